"""Fig. 10 of the DRS paper: where GI/G/k chooses better than M/M/k, because services vary more than exponential ones.

Seven processors for the video, frame by frame: the work on the features of a frame has an SCV of 4. The paper draws
inter-arrival times uniformly from [1/8, 1/2] and [1/9, 1/3] s and calls that 5 and 6 frames per second; it would be
3.2 and 4.5. Here they are drawn so and then stretched to the rates that it names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import floor
from typing import Any

import numpy as np
from rich.table import Table

from experiments.drs.applications import (
    VIDEO_FRAMES,
    FixedRun,
    as_text,
    measured_network,
    run_fixed,
)
from mead.policies.drs.model import Model
from mead.policies.drs.search import assign_processors
from mead.reports.tables import number, plain_table
from mead.values import Pipeline
from mead.workload import Trace

K_MAX = 7
PAPER_MMK, PAPER_GIGK = (3, 3, 1), (2, 4, 1)
"""The choices of M/M/k and GI/G/k in the paper. In its runs the second is faster."""

RATES = {5.0: (2.0, 8.0), 6.0: (3.0, 9.0)}
"""Frames per second, and the inverse of the longest and the shortest inter-arrival time."""

FRAMES = 6_000


@dataclass(frozen=True)
class Bars:
    """One allocation at one rate: seconds, means over the seeds."""

    frames_per_s: float
    processors: tuple[int, ...]
    measured_s: float
    model_s: dict[Model, float]


@dataclass(frozen=True)
class Choice:
    """All stable placements of the processors at one rate, as they were tried."""

    frames_per_s: float
    bars: tuple[Bars, ...]
    placed: dict[Model, tuple[int, ...]]
    """The placement that DRS chooses by each model, from its measurements."""

    def preferred(self, model: Model | None) -> tuple[int, ...]:
        """The placement that a model chooses, or, without a model, the one that measured shortest."""
        return min(self.bars, key=lambda bars: bars.measured_s).processors if model is None else self.placed[model]

    @property
    def verdict(self) -> str:
        """Comparison with the paper, in words."""
        picks = f"M/M/k chooses {as_text(self.preferred(Model.MMK))}, GI/G/k {as_text(self.preferred(Model.GIGK))}"
        truth = f"of all {len(self.bars)} placements {as_text(self.preferred(None))} is the shortest"
        same = [self.preferred(m) for m in (Model.MMK, Model.GIGK, None)] == [PAPER_MMK, PAPER_GIGK, PAPER_GIGK]
        return f"{self.frames_per_s:g} frames/s: {picks}; {truth}: {'as in the paper' if same else 'this differs'}."

    def as_json(self) -> dict[str, Any]:
        """One entry of ``rates``."""
        return {
            "frames_per_s": self.frames_per_s,
            "bars": [
                {"k": list(b.processors), "measured_s": b.measured_s}
                | {f"{m.value}_s": time_s for m, time_s in b.model_s.items()}
                for b in self.bars
            ],
            "preferred": {m.value: list(self.preferred(m)) for m in Model} | {"measured": list(self.preferred(None))},
            "paper": {"mmk": [*PAPER_MMK], "ggk_ac": [*PAPER_GIGK], "measured": [*PAPER_GIGK]},
            "verdict": self.verdict,
        }


def choices(seeds: Sequence[int]) -> Iterator[Choice]:
    """Every rate."""
    for rate in RATES:
        runs = {
            processors: [run_fixed(VIDEO_FRAMES, stretched_gaps(rate, seed), processors, seed) for seed in seeds]
            for processors in stable_placements(VIDEO_FRAMES, rate)
        }
        seen = runs[PAPER_GIGK][0].observation
        placed = {
            model: assign_processors(measured_network(VIDEO_FRAMES, seen, model), K_MAX).processors for model in Model
        }
        yield Choice(rate, tuple(_bars(rate, processors, done) for processors, done in runs.items()), placed)


def stable_placements(pipeline: Pipeline, rate_per_s: float) -> list[tuple[int, ...]]:
    """Every way to place all processors so that each operator keeps up.

    >>> stable_placements(VIDEO_FRAMES, 5.0)  # loads of 1.125, 1.52 and 0.008 cores: (2:2:1) at least, and two more
    [(2, 2, 3), (2, 3, 2), (2, 4, 1), (3, 2, 2), (3, 3, 1), (4, 2, 1)]
    """
    least = [floor(rate_per_s * pipeline.visits[o.name] * o.demand_s) + 1 for o in pipeline.operators]
    every = product(*(range(k, K_MAX + 1) for k in least))
    return [processors for processors in every if sum(processors) == K_MAX]


def stretched_gaps(frames_per_s: float, seed: int) -> Trace:
    """Uniform inter-arrival times of the given rate."""
    low_per_s, high_per_s = RATES[frames_per_s]
    gaps_s = np.random.default_rng(seed).uniform(1 / high_per_s, 1 / low_per_s, FRAMES)
    return Trace.from_iats_s(gaps_s / (frames_per_s * gaps_s.mean()))


def _bars(frames_per_s: float, processors: tuple[int, ...], runs: Sequence[FixedRun]) -> Bars:
    return Bars(
        frames_per_s,
        processors,
        sum(one.mean_s for one in runs) / len(runs),
        {
            model: sum(measured_network(VIDEO_FRAMES, o.observation, model).sojourn_s(processors) for o in runs)
            / len(runs)
            for model in Model
        },
    )


def fig10_parts(found: Sequence[Choice]) -> Iterator[Table | str]:
    """One table, and the verdicts."""
    table = plain_table(
        f"{K_MAX} processors: sojourn time in ms", "frames/s", "processors", "simulated", "M/M/k", "GI/G/k", "refined"
    )
    for one in found:
        for bars in one.bars:
            times_s = (bars.measured_s, *(bars.model_s[model] for model in Model))
            table.add_row(f"{one.frames_per_s:g}", as_text(bars.processors), *(number(1000 * s) for s in times_s))
    yield table
    for one in found:
        yield one.verdict
