"""Fig. 10 of the Elastic-PPQ paper: elasticity alone against both levels, on bursty streams of 80,000 tuples/s."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

import numpy as np
from rich.table import Table

from experiments.ppq.fig9 import PANES_ONLY
from experiments.ppq.measures import WARM_UP_INTERVALS, during_stream, mean, median, plain
from experiments.ppq.streams import markovian, self_similar
from mead.preference.control.fuzzy import CODE, Profile
from mead.preference.simulator.system import simulate
from mead.preference.windows.owner_table import Splitting
from mead.reports.tables import number, number_or_nothing, plain_table
from mead.workload import Trace

RATE_PER_S = 80e3
STREAMS: dict[str, tuple[str, Callable[[float, int], Trace]]] = {
    "map": ("MAP, I = 1K", lambda duration_s, seed: markovian(RATE_PER_S, 1e3, duration_s, seed)),
    "ss": ("self-similar, H = 0.6", lambda duration_s, seed: self_similar(RATE_PER_S, 0.6, duration_s, seed)),
}


@dataclass(frozen=True)
class PublishedFig10:
    """From the authors' raw logs, control intervals from the ninth on; None where they do not say."""

    utilization: float
    median: float | None
    workers: float
    splitting: float
    panes_per_s: float | None


PUBLISHED = {
    ("map", False): PublishedFig10(2.83, None, 60, 1.0, 8.82),
    ("ss", False): PublishedFig10(2.18, None, 60, 1.0, 9.76),
    ("map", True): PublishedFig10(0.985, 0.895, 8.9, 6.6, None),
    ("ss", True): PublishedFig10(0.938, 0.890, 7.5, 4.9, None),
}


FIELDS = ("utilization", "median", "workers", "splitting", "panes_per_s")


@dataclass(frozen=True)
class Fig10Run:
    """One stream under one form of control; means over the intervals from the ninth on."""

    stream: str
    two_level: bool
    seed: int
    utilization: float
    median: float
    workers: float
    most_workers: int
    splitting: float
    panes_per_s: float
    """While tuples arrive."""
    paper: PublishedFig10

    def as_json(self) -> dict[str, Any]:
        """One entry of ``runs``."""
        result: dict[str, Any] = plain(self)
        return result


def runs(seeds: Sequence[int], duration_s: float, profile: Profile = CODE) -> Iterator[Fig10Run]:
    """Both streams under both forms of control."""
    for name, (_, make) in STREAMS.items():
        for seed in seeds:
            trace = make(duration_s, seed)
            for two_level in (False, True):
                splitting = Splitting.ADAPTIVE if two_level else Splitting.NEVER
                outcome = simulate(trace, replace(PANES_ONLY, splitting=splitting, profile=profile))
                steady = during_stream(outcome, WARM_UP_INTERVALS)
                yield Fig10Run(
                    name,
                    two_level,
                    seed,
                    mean(steady, lambda one: one.pane_utilization),
                    median(steady, lambda one: one.pane_utilization),
                    mean(steady, lambda one: one.degrees.panes),
                    max(one.degrees.panes for one in steady),
                    mean(steady, lambda one: one.splitting),
                    float(np.count_nonzero(outcome.panes_s <= outcome.stream_s)) / outcome.stream_s,
                    PUBLISHED[name, two_level],
                )


def fig10_parts(done: Sequence[Fig10Run]) -> Iterator[Table | str]:
    """Ours with the logs' in parentheses, and what follows."""
    table = plain_table(
        "Fig. 10: the pane stage at 80,000 tuples/s", "", "utilization", "median", "workers", "splitting", "panes/s"
    )
    for name, (title, _) in STREAMS.items():
        for two_level in (False, True):
            ours = [one for one in done if one.stream == name and one.two_level == two_level]
            cells = [number(mean(ours, attrgetter(field))) for field in FIELDS]
            table.add_row(f"{title}: {'two levels' if two_level else 'elasticity alone'}", *cells)
            logged = (getattr(PUBLISHED[name, two_level], field) for field in FIELDS)
            table.add_row("  authors' logs", *map(number_or_nothing, logged))
    yield table
    alone = [one.utilization for one in done if not one.two_level]
    both = [one.median for one in done if one.two_level]
    held = sum(0.8 <= value <= 1.0 for value in both)
    yield (
        f"Elasticity alone stays at a utilization of {min(alone):.2f} to {max(alone):.2f} with all 60 workers: only "
        "the panes that are open at a time can be spread."
    )
    yield (
        f"With both levels the median lies between {min(both):.2f} and {max(both):.2f}, in {held} of {len(both)} runs "
        "within 0.8 to 1. Panes are split more than in the logs."
    )
