"""Policies compared: courses of runs, unknown verdicts, the cheapest policy."""

from __future__ import annotations

import numpy as np
import pytest

from mead.policies import make_policy
from mead.policies.baselines.threshold import ThresholdOptions
from mead.reports.comparison import Comparison, Trial
from mead.reports.judge import Verdict
from mead.simulator import run
from mead.values import Operator, Pipeline, Requirement
from mead.workload import Trace

PIPELINE = Pipeline("one", [Operator("matcher", 0.002)], requirements=[Requirement("matcher", 0.5)])


def test_a_course_follows_the_run() -> None:
    trace = Trace.from_timestamps_s(np.cumsum(np.random.default_rng(1).exponential(1 / 200, 12_000)))
    trial = Trial.of_simulation("threshold", 1, run(PIPELINE, trace, make_policy(ThresholdOptions()), seed=1))
    course, outcome = trial.course, trial.outcome
    assert course is not None
    assert outcome is not None
    lengths_s = np.diff([*course.change_s, outcome.duration_s])
    assert float(lengths_s @ course.cores / outcome.duration_s) == pytest.approx(outcome.cpu)
    assert course.time_s.size == course.response_s.size == 6


def trial(name: str, response_s: float, cores: float, *, drained: bool = True, failed: int = 0) -> Trial:
    verdict = Verdict(Requirement("a>b", 1.0), 100, response_s, waiting=not drained, broken_windows=0.0)
    return Trial(name, None, [verdict], {"a": cores}, cost=cores, changes=0, failed_rounds=failed)


def test_the_cheapest_policy_meets_all_requirements_for_certain() -> None:
    trials = [
        trial("late", 2.0, 1.0),
        trial("undrained", 0.5, 1.5, drained=False),
        trial("good", 0.5, 2.0),
        trial("dear", 0.2, 3.0),
    ]
    comparison = Comparison.of("pipeline", "arrivals", "spark", trials)
    assert [one.met for one in comparison.summaries] == [False, None, True, True]
    assert comparison.conclusion == "Cheapest policy that met all requirements: good, 2.00 cores."


def test_failed_rounds_are_reported() -> None:
    comparison = Comparison.of("pipeline", "arrivals", "spark", [trial("drs", 0.5, 1.0, failed=3)])
    assert comparison.summaries[0].note == "drs: 3 rounds failed and changed nothing."
