"""The log analysis on real Spark with real control groups: one run, looked at from all sides."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.spark import log_pipeline as logs
from tests.waiting import PATIENCE_S

from mead.arrays import FloatArray, IntArray
from mead.cpu import CpuUsage, ShareManager, detect
from mead.monitor import ResponseSketch
from mead.spark.pipeline.engine import SparkEngine
from mead.spark.pipeline.running import RunningPipeline
from mead.spark.runtime.workers import find_processes
from mead.spark.telemetry.probe import SAMPLED_ONE_OF
from mead.values import Allocation, Observation, Resources

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RATE_PER_S = 300
LINES = 10 * RATE_PER_S
WAREHOUSE = "test"
"""A consumer that needs nothing, so that everything is kept for the test."""

MANY, FEW = 3, 1
LOW = 0.05
"""Far less than the matcher needs for so many lines per second."""


@dataclass
class Seen:
    """What the run has left behind, and what was seen of it on the way."""

    folder: Path
    observations: list[Observation] = field(default_factory=list)
    first: dict[str, int] = field(default_factory=dict)
    """Completed by every operator before the first observation."""
    quota: str = ""
    """What the kernel says of the share."""
    usage: dict[str, CpuUsage] = field(default_factory=dict)
    """Of the matcher, at full and at low share."""
    elapsed_s: dict[str, float] = field(default_factory=dict)
    few_from: int = 0
    """The last micro-batch of the matcher before it was given fewer tasks."""
    runs: set[str] = field(default_factory=set)
    """Of the matcher's query: a restart would be another."""
    restarts: list[str] = field(default_factory=list)
    drained: bool = False
    responses: ResponseSketch = field(default_factory=ResponseSketch)
    groups: list[Path] = field(default_factory=list)
    groups_left: list[Path] = field(default_factory=list)
    workers: dict[str, int] = field(default_factory=dict)
    """Processes of every operator before the end."""
    workers_left: list[int] = field(default_factory=list)


def watched(
    engine: SparkEngine, seen: Seen, began_s: float, until: Callable[[], bool], limit_s: float = PATIENCE_S
) -> None:
    limit_s += monotonic()
    while not until() and monotonic() < limit_s:
        sleep(0.3)
        seen.observations.append(engine.observe(monotonic() - began_s))


def with_matcher(allocation: Allocation, resources: Resources) -> Allocation:
    return Allocation.of({**dict(allocation.items()), "matcher": resources})


@pytest.fixture(scope="module")
def seen(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    folder = tmp_path_factory.mktemp("run")
    rng = np.random.default_rng(1)
    times_s = np.cumsum(rng.exponential(1 / RATE_PER_S, LINES)).tolist()
    this, pipeline = Seen(folder), logs.pipeline(max_replicas=MANY)
    kept = spark.conf.get("spark.sql.streaming.minBatchesToRetain")
    spark.conf.set("spark.sql.streaming.minBatchesToRetain", "100000")
    shares = detect().open([operator.name for operator in pipeline.operators])
    this.groups = [Path(p) for o in pipeline.operators for p in shares.group(o.name).split(os.pathsep) if p]
    running = RunningPipeline(spark, pipeline, logs.source(folder, times_s), logs.work(), folder, shares, follows=True)
    try:
        for operator in ("parser", "matcher"):
            logs.stream(folder, operator).register(WAREHOUSE)
        running.start()
        running.warm_up(limit_s=PATIENCE_S)
        this.runs.add(str(running.queries["matcher"].running.runId))
        engine, began_s = SparkEngine(running, kept_iats=LINES), monotonic()
        running.begin()
        this.first = {name: state.completed for name, state in engine.states.items()}
        engine.apply(pipeline.most)
        done = this.first["matcher"] + RATE_PER_S
        measure(engine, this, began_s, "full", lambda: engine.states["matcher"].completed > done)
        engine.apply(with_matcher(pipeline.most, Resources(1.0, FEW)))
        shares.set_share("matcher", LOW)
        this.quota = quota(this.groups, "matcher")
        until_s = monotonic() + 3.0
        measure(engine, this, began_s, "low", lambda: monotonic() > until_s)
        shares.set_share("matcher", 1.0)
        this.few_from = last_batch(folder, "matcher") + 1
        watched(engine, this, began_s, lambda: logs.stream(folder, "parser").end >= logs.parsed(LINES).num_rows)
        this.drained = running.drain(limit_s=PATIENCE_S)
        sleep(0.3)  # the last messages are on their way
        this.observations.append(engine.observe(monotonic() - began_s))
        this.runs.add(str(running.queries["matcher"].running.runId))
        this.responses, this.restarts = engine.paths[logs.PATH].whole, list(running.restarts)
        engine.close()
        this.workers = {operator.name: len(processes([operator.name], shares)) for operator in pipeline.operators}
    finally:
        running.stop()
        this.workers_left = left_after([operator.name for operator in pipeline.operators], shares)
        shares.close()
        spark.conf.set("spark.sql.streaming.minBatchesToRetain", str(kept))
    this.groups_left = [group for group in this.groups if group.exists()]
    return this


def left_after(operators: list[str], shares: ShareManager, limit_s: float = PATIENCE_S) -> list[int]:
    """Processes that do not end within that time."""
    until_s = monotonic() + limit_s
    while (left := processes(operators, shares)) and monotonic() < until_s:
        sleep(0.05)
    return left


def processes(operators: list[str], shares: ShareManager) -> list[int]:
    """Of a run: in its groups, and beside them with its tag in their environment."""
    return [pid for name in operators for pid in (*shares.processes(name), *find_processes(shares.group(name)))]


def measure(engine: SparkEngine, seen: Seen, began_s: float, name: str, until: Callable[[], bool]) -> None:
    """What the matcher uses meanwhile."""
    before, start_s = engine.running.shares.usage("matcher"), monotonic()
    watched(engine, seen, began_s, until)
    after = engine.running.shares.usage("matcher")
    seen.elapsed_s[name] = monotonic() - start_s
    if before is not None and after is not None:
        seen.usage[name] = after.since(before)


def quota(groups: list[Path], operator: str) -> str:
    """As the kernel has it: a part of a period, in microseconds."""
    for group in groups:
        if operator in group.name and (group / "cpu.cfs_quota_us").exists():
            return f"{(group / 'cpu.cfs_quota_us').read_text()} {(group / 'cpu.cfs_period_us').read_text()}"
        if operator in group.name and (group / "cpu.max").exists():
            return (group / "cpu.max").read_text()
    return ""


def last_batch(folder: Path, operator: str) -> int:
    return max(logs.index(folder, operator))


def column(folder: Path, operator: str, name: str) -> list[Any]:
    log = logs.stream(folder, operator)
    return [v for pieces in log.divide(0, log.end, 1) for batch in log.read(pieces) for v in batch[name].to_pylist()]


def response_times_s(folder: Path) -> FloatArray:
    """Of the matcher's input, from what Spark and the log have written to disk: end of the batch, less arrival."""
    stamps_us: IntArray = np.array(column(folder, "parser", "arrival_us"), dtype=np.int64)
    checkpoint, start, taken = folder / "checkpoints" / "matcher", 0, []
    for batch in range(last_batch(folder, "matcher") + 1):
        end = json.loads((checkpoint / "offsets" / str(batch)).read_text().splitlines()[2])["rows"]
        done_us = (checkpoint / "commits" / str(batch)).stat().st_mtime_ns // 1000
        taken.append((done_us - stamps_us[start:end]) / 1e6)
        start = end
    assert start == stamps_us.size
    return np.concatenate(taken)


def test_everything_that_arrived_went_through(seen: Seen) -> None:
    assert seen.drained
    # On a busy machine Spark does not wait long enough for the first answer of a process.
    assert all("worker failed to connect back" in restart for restart in seen.restarts)
    assert len(seen.runs) == 1


def test_totals_of_the_counter_are_exact(seen: Seen) -> None:
    assert logs.totals(seen.folder) == logs.expected_totals(LINES)


def test_the_matcher_found_every_pattern_in_every_line_once(seen: Seen) -> None:
    assert logs.matches(seen.folder) == logs.expected_matches(LINES)


def test_the_matcher_has_counted_the_events_of_every_pattern(seen: Seen) -> None:
    assert logs.stream(seen.folder, "matcher").counted == logs.expected_counts(LINES)


def test_malformed_lines_are_dropped_and_no_others(seen: Seen) -> None:
    whole = logs.parsed(LINES)
    assert 0 < whole.num_rows < LINES
    assert sorted(column(seen.folder, "parser", "id")) == whole["id"].to_pylist()
    assert sorted(column(seen.folder, "parser", "message")) == sorted(whole["message"].to_pylist())
    completed = sum(o.operators["parser"].completed for o in seen.observations) + seen.first["parser"]
    assert completed - logs.stream(seen.folder, "parser").end == LINES - whole.num_rows


def test_results_can_be_queried(spark: SparkSession, seen: Seen) -> None:
    spark.read.parquet(str(seen.folder / "results" / "counter")).createOrReplaceTempView("counts")
    rows = spark.sql(
        "select component, sum(n) n from (select component, level, max(count) n from counts group by 1, 2) group by 1"
    ).collect()
    by_component: dict[str, int] = {}
    for (component, _), number in logs.expected_totals(LINES).items():
        by_component[component] = by_component.get(component, 0) + number
    assert {row.component: row.n for row in rows} == by_component


def test_response_times_are_those_that_can_be_read_off_the_disk(seen: Seen) -> None:
    exact_s = response_times_s(seen.folder)[-round(seen.responses.total) :]
    assert exact_s.size == round(seen.responses.total)
    assert exact_s.size > 0.5 * logs.parsed(LINES).num_rows, "the rest has come in the warm-up"
    # Spark writes the commit after the output was there.
    mean_s, p95_s = seen.responses.mean_s or 0.0, seen.responses.percentile_s(95) or 0.0
    assert 0.0 < mean_s <= exact_s.mean() + 0.005
    assert mean_s == pytest.approx(exact_s.mean(), rel=0.1, abs=0.05)
    assert p95_s == pytest.approx(np.percentile(exact_s, 95), rel=0.1, abs=0.05)


def test_readings_of_a_path_add_up_to_the_whole(seen: Seen) -> None:
    readings = [o.paths[logs.PATH] for o in seen.observations]
    assert sum(r.completed for r in readings) == pytest.approx(seen.responses.total)
    assert sum(r.response_sum_s for r in readings) == pytest.approx(seen.responses.sum_s, rel=1e-3)
    assert all(0 <= r.late <= r.completed and r.response_sum_s >= 0 for r in readings)


def test_an_input_is_done_when_the_last_row_that_came_of_it_is(seen: Seen) -> None:
    """By the disk, that is when the matcher has committed it; a malformed line is done when the parser is."""
    inputs = [o.inputs for o in seen.observations if o.inputs is not None]
    completed, sum_s = sum(one.completed for one in inputs), sum(one.response_sum_s for one in inputs)
    stamps_us, ids = (np.array(column(seen.folder, "parser", name)) for name in ("arrival_us", "id"))
    followed = (stamps_us % SAMPLED_ONE_OF == 0) & (ids >= seen.first["parser"])
    malformed = LINES - logs.parsed(LINES).num_rows
    assert 0 < followed.sum() <= completed <= followed.sum() + malformed, (
        "none is left open, and lines without a match count"
    )
    exact_s = response_times_s(seen.folder)[followed]
    assert (
        exact_s.sum() * 0.9 - 0.05 * completed
        <= sum_s
        <= (exact_s.sum() + malformed * exact_s.max()) + 0.05 * completed
    )


@pytest.mark.parametrize("operator", ["parser", "counter", "matcher"])
def test_what_arrived_is_done_or_waits(seen: Seen, operator: str) -> None:
    arrived = completed = 0
    for observation in seen.observations:
        reading = observation.operators[operator]
        arrived, completed = arrived + reading.arrived, completed + reading.completed
        assert min(reading.arrived, reading.completed, reading.backlog) >= 0
        assert reading.backlog == arrived - completed
        assert reading.busy_s >= 0
        assert (reading.batches > 0) == (reading.completed > 0)
    assert seen.observations[-1].operators[operator].backlog == 0
    lines = LINES if operator == "parser" else logs.parsed(LINES).num_rows
    assert seen.first[operator] + completed == lines


def test_inter_arrival_times_are_those_of_the_trace(seen: Seen) -> None:
    """All but those of the warm-up, which come one at a time."""
    trace_s = np.diff(np.load(seen.folder / "trace.npy")) / 1e6
    seen_s = seen.observations[-1].iats_s
    assert seen_s.size > 0.5 * LINES
    assert np.allclose(seen_s[200:], trace_s[-seen_s.size + 200 :], atol=2e-6)
    assert seen.observations[-1].counts.sum() == pytest.approx(seen_s.size, abs=0.2 * RATE_PER_S)


def test_a_share_is_what_the_kernel_has(seen: Seen) -> None:
    if not seen.usage:
        pytest.skip("no control groups can be made here")
    quota_us, period_us = map(int, seen.quota.split())
    assert quota_us / period_us == pytest.approx(LOW)


def test_a_low_share_holds_the_operator_back(seen: Seen) -> None:
    if not seen.usage:
        pytest.skip("no control groups can be made here")
    full, low = seen.usage["full"], seen.usage["low"]
    assert low.cpu_s / seen.elapsed_s["low"] < 1.5 * LOW
    assert low.throttled_s > full.throttled_s
    backlog = [o.operators["matcher"].backlog for o in seen.observations]
    assert max(backlog) > RATE_PER_S / 2, "lines waited for it"


def test_the_number_of_tasks_follows_the_plan_without_a_restart(seen: Seen) -> None:
    batches = logs.index(seen.folder, "matcher")
    assert max(len(tasks) for tasks in batches.values()) == MANY
    after = [len(tasks) for batch, tasks in batches.items() if batch > seen.few_from]
    assert after
    assert max(after) == FEW


def test_no_worker_of_a_run_idles_after_it(seen: Seen) -> None:
    if not seen.groups:
        pytest.skip("no control groups can be made here, by which an operator's workers are known")
    assert all(workers > 0 for workers in seen.workers.values())
    assert seen.workers_left == []


def test_the_groups_are_gone(seen: Seen) -> None:
    if not seen.groups:
        pytest.skip("no control groups can be made here")
    assert seen.groups_left == []


def landed(folder: Path, operator: str) -> list[int]:
    """Rows of its log that the query behind it had read after each of its micro-batches."""
    offsets = folder / "checkpoints" / f"{operator}.results" / "offsets"
    batches = sorted((file for file in offsets.glob("[0-9]*")), key=lambda file: int(file.name))
    return [json.loads(file.read_text().splitlines()[2])["rows"] for file in batches]


def test_results_are_all_that_is_left_in_the_logs_but_what_somebody_wants(seen: Seen) -> None:
    """The counter's log has been read by the query that lands results: nobody needs it any more."""
    log = logs.stream(seen.folder, "counter")
    assert log.start in landed(seen.folder, "counter")[-2:], "what a micro-batch has read is let go by the next"
    kept, end = {file.name for file in (log.folder / "data").iterdir()}, 0
    for files in logs.index(seen.folder, "counter").values():
        for name, rows, *_ in files:
            end += rows
            assert (name in kept) == (rows > 0 and end > log.start)
    assert list((seen.folder / "stamps").iterdir()) == []
