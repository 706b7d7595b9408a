"""Run policies and clairvoyant schedules on the same workloads, requirements and seeds.

A run depends on its seed alone, so runs can be made in any order and in several processes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np

from experiments.clairvoyant import clairvoyant
from experiments.mead_paper.tables import Case
from mead.arrays import FloatArray
from mead.config import choose_policy
from mead.loading import modules_in
from mead.policies import PolicyOptions, make_policy, options_class
from mead.reports.comparison import Course
from mead.reports.judge import Outcome, Verdict
from mead.simulator import Conditions, FaultyMetrics, SimulatedRun, run

T = TypeVar("T")
R = TypeVar("R")

WORTH_A_PROCESS = 4
"""Least number of runs per process; for fewer, starting the process takes longer."""


PROBABILITIES = np.linspace(0.0, 1.0, 401)
"""Where a distribution of response times is kept."""


@dataclass(frozen=True, eq=False)
class Result:
    """The result of one run."""

    case: Case
    label: str
    seed: int
    outcome: Outcome | None
    """None for a clairvoyant if no schedule meets the requirement."""
    proven_cpu: float | None = None
    """For a clairvoyant schedule: a cost that no schedule can undercut."""
    course: Course | None = field(default=None, repr=False)
    quantiles_s: FloatArray | None = field(default=None, repr=False)
    """Response times of the case's path at ``PROBABILITIES``."""

    @classmethod
    def of(cls, case: Case, label: str, seed: int, run: SimulatedRun, proven_cpu: float | None = None) -> Result:
        """Judge a run."""
        responses_s = run.simulation.responses(case.requirement.path).response_s
        quantiles_s = np.quantile(responses_s, PROBABILITIES) if responses_s.size else None
        return cls(case, label, seed, Outcome.of(run), proven_cpu, Course.of(run), quantiles_s)

    @property
    def verdict(self) -> Verdict | None:
        """The verdict on the requirement of the case."""
        return None if self.outcome is None else self.outcome.verdicts[0]


class Contender(Protocol):
    """A policy or a clairvoyant schedule."""

    @property
    def label(self) -> str:
        """Its name in tables and options."""

    def result(self, case: Case, seed: int) -> Result:
        """Run the case."""


@dataclass(frozen=True, eq=False)
class PolicyContender:
    """A policy with its options."""

    label: str
    options: PolicyOptions
    conditions: Conditions | None = None
    metrics: FaultyMetrics | None = None

    @classmethod
    def of(cls, text: str) -> PolicyContender:
        """A policy by its name, with options that differ from the default.

        >>> PolicyContender.of("static@share=0.7").options.share
        0.7
        """
        name, *settings = text.split("@")
        if "careful" in options_class(name).model_fields:
            # As in the papers: a planner that learns from its errors would hide the errors of its model.
            settings = ["careful=false", *settings]
        options = choose_policy(None, name, settings)
        if ":" in name:
            modules_in(Path())
            make_policy(options)  # finds mistakes before anything starts
        return cls(text, options)

    def result(self, case: Case, seed: int) -> Result:
        """Simulate the case under the policy."""
        done = run(
            case.workload.pipeline(case.requirement),
            case.workload.trace(seed),
            self.options,
            seed=seed,
            conditions=self.conditions,
            metrics=self.metrics,
        )
        return Result.of(case, self.label, seed, done)


@dataclass(frozen=True)
class BoundContender:
    """A schedule that knows the future and decides at this interval."""

    interval_s: float

    @property
    def label(self) -> str:
        """Its name in the tables."""
        return f"clairvoyant {self.interval_s:g} s"

    def result(self, case: Case, seed: int) -> Result:
        """The cheapest schedule for the case, replayed."""
        best = clairvoyant(
            case.workload.pipeline(case.requirement), case.workload.trace(seed), seed=seed, interval_s=self.interval_s
        )
        if best is None:
            return Result(case, self.label, seed, None)
        return Result.of(case, self.label, seed, best.run, best.proven_cpu)


BOUNDS = (BoundContender(10.0), BoundContender(1.0))


def results(
    cases: Sequence[Case], contenders: Sequence[Contender], seeds: Sequence[int], jobs: int = 1
) -> Iterator[Result]:
    """Every contender on every case with every seed, in this order."""
    work = [(contender, case, seed) for case in cases for contender in contenders for seed in seeds]
    return each(_result, work, jobs)


def each(function: Callable[[T], R], work: Sequence[T], jobs: int) -> Iterator[R]:
    """Map a function over work, in order; in several processes if there is enough work."""
    workers = min(jobs, len(work) // WORTH_A_PROCESS)
    if workers <= 1:
        yield from map(function, work)
        return
    # A process that is forked while other threads run can hang.
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        yield from pool.map(function, work)


def _result(work: tuple[Any, Case, int]) -> Result:
    contender, case, seed = work
    result: Result = contender.result(case, seed)
    return result
