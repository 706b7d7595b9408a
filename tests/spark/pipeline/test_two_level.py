"""Two levels live: a policy that never changes its mind, and splitting on top of it, on Spark with control groups.

A task of the matcher has so small a share that one serves the quiet part of the stream and not the crowd.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.spark import log_pipeline as logs

from mead.cpu import detect
from mead.policies.baselines.static import StaticOptions
from mead.policies.reasons import Backlog
from mead.session import LiveResult, Session
from mead.spark.pipeline.run import run_pipeline
from mead.values import Batches, Knowledge, Pipeline

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow

QUIET_PER_S, CROWD_PER_S = 40.0, 500.0
QUIET_S, CROWD_S, RUN_S = 5.0, 4.0, 16.0
SHARE, MOST = 0.05, 4
LIGHT = 0.8
"""The share of parser and counter, which leaves the replicas of the matcher room on two cores."""


@dataclass(frozen=True)
class Crowd:
    """What came of a run."""

    folder: Path
    result: LiveResult
    lines: int

    @property
    def tasks(self) -> list[tuple[float, int]]:
        """Of the matcher, from when on."""
        return [(time_s, allocation["matcher"].replicas) for time_s, allocation in self.result.timeline]


def pipeline() -> Pipeline:
    plain, batches = logs.pipeline(max_replicas=MOST), Batches(0.1, trigger_s=0.25)
    shares = ((LIGHT,), (LIGHT,), (SHARE,))
    operators = [replace(o, batches=batches, shares=s) for o, s in zip(plain.operators, shares, strict=True)]
    return Pipeline(plain.name, operators, plain.edges, plain.requirements)


@pytest.fixture(scope="module")
def crowd(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Crowd:
    found = detect()
    if found.kind == "none":
        pytest.skip(f"CPU shares cannot be set here: {found}")
    folder, rng, graph = tmp_path_factory.mktemp("two-level"), np.random.default_rng(1), pipeline()
    parts = ((QUIET_PER_S, QUIET_S), (CROWD_PER_S, CROWD_S), (QUIET_PER_S, RUN_S))
    times_s = np.cumsum(np.concatenate([rng.exponential(1 / rate, round(rate * length)) for rate, length in parts]))
    times_s = times_s[times_s < RUN_S - 0.5]  # all lines arrive, so that all can be counted
    with closing(found.open([operator.name for operator in graph.operators])) as shares:
        result = run_pipeline(
            Session(graph, StaticOptions(replicas=1, two_level=True)),
            spark,
            Knowledge(graph),
            logs.source(folder, times_s.tolist()),
            logs.work(),
            folder,
            shares,
            duration_s=RUN_S,
        )
    return Crowd(folder, result, times_s.size)


def test_the_crowd_has_more_tasks_than_there_are_at_other_times(crowd: Crowd) -> None:
    """The time of a split is for a benchmark: on a busy machine tuples wait before the crowd comes."""
    assert {1, 2} <= {min(tasks, 2) for _, tasks in crowd.tasks}, crowd.tasks


def test_the_plan_stays_and_every_split_says_why(crowd: Crowd) -> None:
    plans = [this.plan for this in crowd.result.rounds if this.plan is not None]
    splits = [plan for plan in plans if plan.allocation["matcher"].replicas > 1]
    assert splits
    assert all(isinstance(plan.reason.facts[0], Backlog) for plan in splits)
    assert {allocation["matcher"].share for _, allocation in crowd.result.timeline} == {SHARE}


def test_no_line_is_lost_or_counted_twice_while_micro_batches_are_split(crowd: Crowd) -> None:
    assert crowd.result.drained
    assert logs.totals(crowd.folder) == logs.expected_totals(crowd.lines)
    assert logs.matches(crowd.folder) == logs.expected_matches(crowd.lines)
