"""Fig. 3 of the Elastic-PPQ paper: burstiness of three kinds of arrivals at different time scales."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.table import Table

from experiments.ppq.measures import plain
from mead.reports.tables import number, plain_table
from mead.workload import Generator, Markovian, Poisson, SelfSimilar, Trace

RATE_PER_S = 10_000.0
SCALES_S = (0.01, 0.1, 1.0)

LOGGED = {
    "poisson": (1.0, 0.99, 1.02),
    "map": (196.0, 789.0, 1019.0),
    "self-similar": (422.0, 425.0, 421.0),
}
"""Index of dispersion of the counts that the authors publish, by scale: 1,000 s of each."""


@dataclass(frozen=True)
class Fig3Row:
    """One kind of arrivals."""

    kind: str
    rate_per_s: float
    dispersion: tuple[float, ...]
    """Variance over mean of the counts, by scale."""
    logged: tuple[float, ...]

    def as_json(self) -> dict[str, Any]:
        """One entry of ``rows``."""
        result: dict[str, Any] = plain(self) | {"scales_s": list(SCALES_S)}
        return result


def dispersion(trace: Trace, scale_s: float) -> float:
    """Variance over mean of the arrivals in each interval of a length, without the last, which is not whole."""
    counts = np.bincount(trace.timestamps_us // round(1e6 * scale_s))[:-1]
    return float(counts.var() / counts.mean())


def rows(seed: int, duration_s: float) -> Iterator[Fig3Row]:
    """All three, at the same mean rate."""
    kinds: dict[str, Generator] = {
        "poisson": Poisson(rate_per_s=RATE_PER_S, duration_s=duration_s),
        "map": Markovian(rate_per_s=RATE_PER_S, idc=1000.0, duration_s=duration_s),
        "self-similar": SelfSimilar(rate_per_s=RATE_PER_S, hurst=0.75, duration_s=duration_s),
    }
    for kind, generator in kinds.items():
        trace = generator.generate(np.random.default_rng([seed, 1]))
        found = tuple(dispersion(trace, scale_s) for scale_s in SCALES_S)
        yield Fig3Row(kind, len(trace) / duration_s, found, LOGGED[kind])


def fig3_parts(done: Sequence[Fig3Row]) -> Iterator[Table | str]:
    """Ours with the authors' in parentheses, and what follows."""
    table = plain_table(
        "Fig. 3: index of dispersion of arrivals, by time scale (authors' traces in parentheses)",
        "arrivals", "tuples/s", *(f"{1000 * scale_s:g} ms" for scale_s in SCALES_S),
    )  # fmt: skip
    for one in done:
        pairs = zip(one.dispersion, one.logged, strict=True)
        table.add_row(
            one.kind, number(one.rate_per_s), *(f"{number(ours)} ({number(logged)})" for ours, logged in pairs)
        )
    yield table
    yield (
        "At 1, counts vary as much as those of independent arrivals, which vanishes beside a mean of 1,000 per 100 ms. "
        "Markovian arrivals get burstier up to their index of 1,000; self-similar ones look alike at every scale."
    )
