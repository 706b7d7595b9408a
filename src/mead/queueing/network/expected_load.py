"""Expected load and replicas of every operator.

Equations 2 to 7 of PA-SPS (Wladdimiro et al., JPDC 2024).

In the corrected form. The paper prints equation 7 with the share of the source stream where the ratio of the edge is
needed; as printed, all of a queue goes down every branch, a flat map gains nothing and a filter lets everything pass.
All counts are of one interval.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import ceil

Link = tuple[str, str]
"""From one operator to another."""

ROUNDING = 1e-9


class CycleError(ValueError):
    """The operators form a loop, along which the equations would have to be solved, not followed."""


def edge_ratios(
    sent: Mapping[Link, float], processed: Mapping[str, float], last: Mapping[Link, float]
) -> dict[Link, float]:
    """Equation 6: tuples sent along each edge for one tuple processed.

    A ratio is any number from 0 up.

    An operator that processed nothing keeps its last ratios, and has 1 if there were none.

    >>> edge_ratios({("a", "b"): 30.0, ("c", "d"): 0.0}, {"a": 100.0, "c": 0.0}, {("c", "d"): 0.5})
    {('a', 'b'): 0.3, ('c', 'd'): 0.5}
    """
    return {
        link: count / processed[link[0]] if processed[link[0]] > 0 else last.get(link, 1.0)
        for link, count in sent.items()
    }


def entry_shares(entered: Mapping[str, float], source: float, last: Mapping[str, float]) -> dict[str, float]:
    """Share of the source that each entry operator gets.

    A single one gets all. Where nothing came, the last shares hold, and an equal split if there were none.

    >>> entry_shares({"a": 30.0, "b": 70.0}, 100.0, {}), entry_shares({"a": 0.0, "b": 0.0}, 0.0, {})
    ({'a': 0.3, 'b': 0.7}, {'a': 0.5, 'b': 0.5})
    """
    if len(entered) == 1:
        return dict.fromkeys(entered, 1.0)
    if source > 0:
        return {name: count / source for name, count in entered.items()}
    return {name: last.get(name, 1 / len(entered)) for name in entered}


@dataclass(frozen=True)
class Load:
    """Expected tuples of one operator in the next interval."""

    share: float
    """Equation 5: tuples here for one at the source."""
    received: float
    """Equation 4: tuples of the forecast."""
    queued: float
    """Equation 7: tuples that wait already, here or before."""

    @property
    def total(self) -> float:
        """Equation 3."""
        return self.received + self.queued


def expected_loads(
    order: Iterable[str],
    shares: Mapping[str, float],
    ratios: Mapping[Link, float],
    forecast: float,
    queues: Mapping[str, float],
) -> dict[str, Load]:
    """Equations 3 to 5 and 7, operator by operator in the order of the flow. No forecast is below zero.

    >>> loads = expected_loads(["a", "b"], {"a": 1.0}, {("a", "b"): 0.5}, 100.0, {"a": 20.0, "b": 1.0})
    >>> loads["b"]
    Load(share=0.5, received=50.0, queued=11.0)
    """
    source = max(forecast, 0.0)
    loads: dict[str, Load] = {}
    for name in order:
        before = [(loads[link[0]], ratio) for link, ratio in ratios.items() if link[1] == name]
        share = shares.get(name, 0.0) + sum(load.share * ratio for load, ratio in before)
        queued = queues.get(name, 0.0) + sum(load.queued * ratio for load, ratio in before)
        loads[name] = Load(share, source * share, queued)
    return loads


def replicas_needed(tuples: float, execution_s: float, interval_s: float) -> float:
    """Equation 2: how many replicas a load would keep busy all the time.

    >>> replicas_needed(10, 0.2, 1.0)
    2.0
    """
    return tuples * execution_s / interval_s


def whole_replicas(needed: float, pool: int) -> int:
    """As many as a pool has to make active: at least one, at most all, and no more for a rounding error.

    >>> whole_replicas(3.0000000001, 8), whole_replicas(0.0, 8), whole_replicas(16.0, 8)
    (3, 1, 8)
    """
    return max(1, min(pool, ceil(needed - ROUNDING)))
