"""DRS and PA-SPS change the replicas of a running pipeline: a crowd comes, on real Spark with real control groups.

A replica of the matcher has so small a share that one serves the quiet part of the stream and not the crowd. A run
begins with all replicas, so that each policy first takes some away and then brings them back.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import time_ns
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest
from tests.spark import log_pipeline as logs

from mead.cpu import ShareManager, detect
from mead.policies import PolicyOptions
from mead.policies.drs.facts import Scheduled
from mead.policies.drs.policy import DRSOptions
from mead.policies.pasps.policy import PaSpsOptions
from mead.session import LiveResult, Session
from mead.spark.pipeline.run import run_pipeline
from mead.values import Batches, Knowledge, Pipeline

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow

QUIET_PER_S, CROWD_PER_S = 40.0, 500.0
QUIET_S, CROWD_S, RUN_S = 7.0, 4.0, 12.0
SHARE, MOST = 0.05, 4
LIGHT = 0.8
"""The share of parser and counter, which leaves the replicas of the matcher room on two cores."""

BOUND_S = 5.0
POLICIES: dict[str, PolicyOptions] = {
    "drs": DRSOptions(interval_s=1.0, t_ra_s=2.0, window=1),
    "pasps": PaSpsOptions(interval_s=2.0, sample_s=1.0, samples=4, predictor="lr"),
}
BEFORE_NS, AFTER_NS = 500_000_000, 100_000_000
"""A micro-batch that begins this close to an order may have been planned on either side of it."""


class Noted:
    """A share manager that notes when the matcher was given how many replicas, at the moment of the order."""

    def __init__(self, shares: ShareManager) -> None:
        self._shares = shares
        self.orders: list[tuple[int, int]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._shares, name)

    def set_share(self, operator: str, share: float) -> None:
        self._shares.set_share(operator, share)
        if operator == "matcher":
            self.orders.append((time_ns(), round(share / SHARE)))


@dataclass(frozen=True)
class Crowd:
    """What came of a run."""

    folder: Path
    result: LiveResult
    lines: int
    orders: list[tuple[int, int]] = field(repr=False)
    """When, and how many replicas from then on."""

    @property
    def batches(self) -> list[tuple[int, int]]:
        """Of the matcher, as Spark and the log have them on disk: when each began, and how many tasks it had."""
        index, offsets = logs.index(self.folder, "matcher"), self.folder / "checkpoints" / "matcher" / "offsets"
        return [((offsets / str(batch)).stat().st_mtime_ns, len(written)) for batch, written in index.items()]

    def under_orders(self) -> list[tuple[int, list[int]]]:
        """For every order, the tasks of the micro-batches that certainly began under it."""
        ends = [time for time, _ in self.orders[1:]]
        return [
            (replicas, [tasks for began, tasks in self.batches if time + AFTER_NS < began < end - BEFORE_NS])
            for (time, replicas), end in zip(self.orders, [*ends, time_ns()], strict=True)
        ]


def pipeline() -> Pipeline:
    plain, batches = logs.pipeline(max_replicas=MOST, bound_s=BOUND_S), Batches(0.1, trigger_s=0.25)
    shares = ((LIGHT,), (LIGHT,), (SHARE,))
    operators = [replace(o, batches=batches, shares=s) for o, s in zip(plain.operators, shares, strict=True)]
    return Pipeline(plain.name, operators, plain.edges, plain.requirements)


@pytest.fixture(scope="module", params=list(POLICIES))
def crowd(request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Crowd:
    found = detect()
    if found.kind == "none":
        pytest.skip(f"CPU shares cannot be set here: {found}")
    folder = tmp_path_factory.mktemp(f"crowd-{request.param}")
    rng, options = np.random.default_rng(1), POLICIES[request.param]
    gaps_s = np.concatenate(
        [
            rng.exponential(1 / rate, round(rate * length_s))
            for rate, length_s in ((QUIET_PER_S, QUIET_S), (CROWD_PER_S, CROWD_S), (QUIET_PER_S, RUN_S))
        ]
    )
    times_s = np.cumsum(gaps_s)
    times_s = times_s[times_s < RUN_S - 0.5]  # all lines arrive, so that all can be counted
    graph = pipeline()
    kept = spark.conf.get("spark.sql.streaming.minBatchesToRetain")
    spark.conf.set("spark.sql.streaming.minBatchesToRetain", "100000")
    try:
        with closing(found.open([operator.name for operator in graph.operators])) as shares:
            noted = Noted(shares)
            result = run_pipeline(
                Session(graph, options),
                spark,
                Knowledge(graph),
                logs.source(folder, times_s.tolist()),
                logs.work(),
                folder,
                cast("ShareManager", noted),
                duration_s=RUN_S,
            )
    finally:
        spark.conf.set("spark.sql.streaming.minBatchesToRetain", str(kept))
    return Crowd(folder, result, times_s.size, noted.orders)


def test_replicas_go_while_it_is_quiet_and_come_with_the_crowd(crowd: Crowd) -> None:
    held = [allocation["matcher"].replicas for _, allocation in crowd.result.timeline]
    assert held[0] == MOST
    assert 1 in held
    assert max(held[held.index(1) :]) >= 2
    assert [replicas for _, replicas in crowd.orders if replicas > 1], "and not only in the books"


def test_every_change_says_why(crowd: Crowd) -> None:
    said = [this.plan.reason for this in crowd.result.rounds if this.plan]
    if crowd.result.policy == "drs":
        facts = {fact for reason in said for fact in reason.facts}
        assert {Scheduled("scale_in", "over-provision"), Scheduled("scale_out", "shortage")} <= facts
    else:
        words = [str(reason) for reason in said]
        more = [reason for reason in words if reason.startswith("Raise matcher from 1 to ")]
        fewer = [reason for reason in words if reason.startswith(f"Lower matcher from {MOST} to ")]
        assert more
        assert fewer
        assert all("lr forecasts" in reason for reason in (*more, *fewer))


def test_replicas_are_there_from_the_next_micro_batch_on_and_gone_with_it(crowd: Crowd) -> None:
    under = crowd.under_orders()
    assert all(max(tasks, default=0) <= replicas for replicas, tasks in under)
    fewest = [tasks for replicas, tasks in under if replicas == 1]
    assert set().union(*fewest) == {1}
    several = [(replicas, tasks) for replicas, tasks in under[1:] if replicas > 1 and tasks]
    assert several, "the crowd was served by several tasks"
    assert any(tasks[0] == replicas for replicas, tasks in several), "the first micro-batch has them all"


def test_no_line_is_lost_or_counted_twice_while_tasks_come_and_go(crowd: Crowd) -> None:
    assert crowd.result.drained
    # On a busy machine Spark does not wait long enough for the first answer of a process.
    assert all("worker failed to connect back" in restart for restart in crowd.result.restarts)
    assert logs.totals(crowd.folder) == logs.expected_totals(crowd.lines)
    assert logs.matches(crowd.folder) == logs.expected_matches(crowd.lines)
