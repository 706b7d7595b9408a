"""Fig. 6 of the DRS paper: the allocation that DRS advises beside its neighbours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

from rich.table import Table

from experiments.drs.applications import (
    K_MAX,
    PATTERNS,
    VIDEO,
    VIDEO_FRAMES,
    FixedRun,
    as_text,
    frames,
    measured_network,
    run_fixed,
    tweets,
)
from mead.policies.drs.search import assign_processors
from mead.reports.tables import number, plain_table
from mead.values import Pipeline
from mead.workload import Trace

DURATION_S = 600.0
"""Ten minutes, as in the paper."""


@dataclass(frozen=True)
class Application:
    """A pipeline with its arrivals, and the six allocations that are compared."""

    name: str
    pipeline: Pipeline
    arrivals: Callable[[float, int], Trace]
    published: tuple[int, ...]
    """The best allocation in the paper, which its DRS advises."""
    neighbours: tuple[tuple[int, ...], ...]
    """The five others. The paper's text names two of them (in Fig. 8); the rest are one or two moves away."""


VIDEO_BEST, VIDEO_OTHERS = (10, 11, 1), ((8, 12, 2), (9, 12, 1), (10, 10, 2), (11, 9, 2), (11, 10, 1))
APPLICATIONS = (
    Application("video", VIDEO, frames, VIDEO_BEST, VIDEO_OTHERS),
    Application("video-frames", VIDEO_FRAMES, frames, VIDEO_BEST, VIDEO_OTHERS),
    Application("patterns", PATTERNS, tweets, (6, 13, 3), ((5, 14, 3), (6, 12, 4), (7, 12, 3), (7, 13, 2), (8, 12, 2))),
)


@dataclass(frozen=True)
class Configuration:
    """One allocation: times in seconds, over all seeds."""

    processors: tuple[int, ...]
    mean_s: float
    error_s: float
    """Standard error of the mean over the seeds."""
    std_s: float
    model_s: float
    """E[T] of eq. 4, with M/M/k: the times of all tuples that come of an input, added up."""


@dataclass(frozen=True)
class PlacementComparison:
    """All allocations of an application."""

    application: Application
    configurations: tuple[Configuration, ...]
    advice: tuple[int, ...]
    """The allocation that DRS advises most often in these runs."""
    advised: int
    runs: int

    @property
    def best(self) -> Configuration:
        """The allocation with the shortest mean."""
        return min(self.configurations, key=lambda one: one.mean_s)

    @property
    def verdict(self) -> str:
        """Comparison with the paper, in words."""
        best, paper = self.best, as_text(self.application.published)
        steadiest = min(self.configurations, key=lambda one: one.std_s)
        said = f"DRS advises {as_text(self.advice)} in {self.advised} of {self.runs} runs; the paper's DRS {paper}. "
        advised = next((one for one in self.configurations if one.processors == self.advice), None)
        if best.processors == self.advice:
            said += "It is the best, as in the paper"
        elif advised is None:
            said += f"That is not among these six; the best of them is {as_text(best.processors)}"
        else:
            longer = 100 * (advised.mean_s / best.mean_s - 1)
            said += f"This differs: {as_text(best.processors)} is the best, and the advice {longer:.2f} % longer"
        return f"{said}; the smallest deviation has {as_text(steadiest.processors)} (paper {paper})."

    def as_json(self) -> dict[str, Any]:
        """One entry of ``applications``."""
        return {
            "application": self.application.name,
            "advice": list(self.advice),
            "advised_runs": self.advised,
            "runs": self.runs,
            "best": list(self.best.processors),
            "paper_best": list(self.application.published),
            "configurations": [
                {
                    "k": list(one.processors),
                    "mean_s": one.mean_s,
                    "error_s": one.error_s,
                    "std_s": one.std_s,
                    "model_s": one.model_s,
                }
                for one in self.configurations
            ],
            "verdict": self.verdict,
        }


def compare_placements(
    application: Application, seeds: Sequence[int], duration_s: float = DURATION_S
) -> PlacementComparison:
    """Every allocation on the same inputs and demands, with every seed."""
    every = sorted((application.published, *application.neighbours))
    runs = {
        processors: [
            run_fixed(application.pipeline, application.arrivals(duration_s, seed), processors, seed) for seed in seeds
        ]
        for processors in every
    }
    pipeline = application.pipeline
    advice = Counter(
        assign_processors(measured_network(pipeline, one.observation), K_MAX).processors
        for of_one in runs.values()
        for one in of_one
    )
    (most, times), *_ = advice.most_common(1)
    configurations = tuple(_configuration(pipeline, processors, of_one) for processors, of_one in runs.items())
    return PlacementComparison(application, configurations, most, times, sum(advice.values()))


def _configuration(pipeline: Pipeline, processors: tuple[int, ...], runs: Sequence[FixedRun]) -> Configuration:
    means_s = [one.mean_s for one in runs]
    mean_s = sum(means_s) / len(means_s)
    spread_s2 = sum((m - mean_s) ** 2 for m in means_s) / max(len(means_s) - 1, 1)
    return Configuration(
        processors,
        mean_s,
        sqrt(spread_s2 / len(means_s)),
        sum(one.std_s for one in runs) / len(runs),
        sum(measured_network(pipeline, one.observation).sojourn_s(processors) for one in runs) / len(runs),
    )


def fig6_parts(comparisons: Sequence[PlacementComparison]) -> Iterator[Table | str]:
    """A table and a verdict for each application."""
    for one in comparisons:
        table = plain_table(
            f"{one.application.pipeline.name}: total sojourn time in ms",
            "processors",
            "mean",
            "±",
            "std",
            "model E[T]",
            "paper",
        )
        for row in one.configurations:
            mark = "best, advised" if row.processors == one.application.published else ""
            times = [f"{1000 * s:.4g}" for s in (row.mean_s, row.std_s, row.model_s)]
            table.add_row(as_text(row.processors), times[0], number(1000 * row.error_s), *times[1:], mark)
        yield table
        yield one.verdict
