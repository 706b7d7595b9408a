"""Somebody else's query under observation, advice and control, on Spark and with real control groups."""

from __future__ import annotations

import errno
import gc
import re
import subprocess
import sys
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.waiting import PATIENCE_S

import mead
from mead.clock import Stopped
from mead.cpu import Opener, detect, find_other_group, measure_actuation_delay_s
from mead.cpu.control_file import read_counters, read_processes
from mead.cpu.share_probe import TOLERANCE
from mead.history import History
from mead.policies.baselines.static import StaticOptions
from mead.reports.pages import RunFigures
from mead.spark.attach.engine import came_since_us
from mead.spark.telemetry.probe import Stamps
from mead.spark.telemetry.reports import BatchReport
from mead.values import Round

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

DETECTION = detect()
needs_groups = pytest.mark.skipif(DETECTION.kind == "none", reason=str(DETECTION))

DEMAND_S = 0.003
ROWS_PER_S = 100


def rate(spark: SparkSession) -> DataFrame:
    return spark.readStream.format("rate").option("rowsPerSecond", ROWS_PER_S).load()


def start_query(stream: DataFrame, name: str) -> StreamingQuery:
    return stream.writeStream.format("noop").queryName(name).start()


def wait(reached: Callable[[], Any], limit_s: float = PATIENCE_S) -> None:
    until_s = time.monotonic() + limit_s
    while not reached():
        assert time.monotonic() < until_s, "it took too long"
        time.sleep(0.05)


def batches(query: StreamingQuery) -> int:
    return query.lastProgress.batchId if query.lastProgress else -1


@pytest.fixture(scope="module")
def slow(spark: SparkSession) -> Iterator[StreamingQuery]:
    """A query as a user has it: known to nobody, with a Python function that takes its time."""
    from pyspark.sql import functions as sql

    def work(value: int) -> int:
        until_s = time.thread_time() + DEMAND_S
        while time.thread_time() < until_s:
            pass
        return value

    costly = sql.udf(work, "long", useArrow=False)
    query = start_query(mead.stamped(rate(spark), "timestamp").select(costly("value")), "slow")
    wait(lambda: batches(query) >= 2)
    yield query
    query.stop()


def test_attached_is_a_function_in_whatever_order_modules_are_loaded() -> None:
    for imports in (
        "import mead",
        "import mead.spark.attach.attach, mead",
        "from mead.spark.attach.attach import attach; import mead",
    ):
        probe = f"{imports}; from mead import attach as a; assert a is mead.attach"
        subprocess.run([sys.executable, "-c", f"{probe}; assert callable(mead.attach)"], check=True)
    light = "import mead, sys; sys.exit('numpy' in sys.modules or 'pyspark' in sys.modules)"
    subprocess.run([sys.executable, "-c", light], check=True)


def test_advice_comes_with_reasons_and_changes_nothing(slow: StreamingQuery, tmp_path: Path) -> None:
    with mead.attach(slow, requirement="mean <= 100 s", history=tmp_path / "h.sqlite") as attached:
        wait(lambda: sum(o.completed for o in readings(attached)) > 4 * ROWS_PER_S)
        assert attached.mode == "advise"
        assert all(find_other_group(pid) is None for pid in attached.engine.pids)
        assert re.fullmatch(r"slow: \d+/s, mean [\d.]+ s of 100 s, 2 cores in force; advise: .+", attached.status())
    assert slow.isActive
    advised = attached.savings()
    assert advised is not None
    assert advised.in_force == pytest.approx(2.0)
    assert "by its plans" in advised.basis
    assert all(this.error == "" and this.plan and this.plan.reason for this in attached.decisions)
    busy_s, rows = (sum(getattr(o, what) for o in readings(attached)) for what in ("busy_s", "completed"))
    assert DEMAND_S * rows * 0.5 < busy_s < DEMAND_S * rows * 3
    with History.read(tmp_path / "h.sqlite") as history:
        (run,) = history.runs()
    assert (run.name, run.mode, run.rounds, run.finished) == ("slow", "advise", len(attached.decisions), True)


def test_who_observes_is_told_what_would_have_been_saved(slow: StreamingQuery, tmp_path: Path) -> None:
    file = tmp_path / "h.sqlite"
    low = StaticOptions(share=0.8)
    with mead.attach(slow, "mean <= 100 s", mode="observe", policy=low, shares=(0.8, 2.0), history=file) as attached:
        assert attached.savings() is None  # nothing has come yet
        wait(lambda: sum(o.completed for o in readings(attached)) > 4 * ROWS_PER_S)
    assert all(this.plan is None for this in attached.decisions)
    found = attached.savings()
    assert found is not None
    assert found.in_force == pytest.approx(2.0)
    assert 0.8 <= found.instead < 2.0
    assert "static in control of the last" in str(found)
    (mean_s,) = found.predicted_s.values()
    assert mean_s is not None
    with History.read(file) as history:
        again = RunFigures.of(history, 1).savings  # as `mead report` has it
    assert again is not None
    assert (again.in_force, again.instead) == pytest.approx((found.in_force, found.instead))
    assert again.predicted_s == pytest.approx(found.predicted_s)


def readings(attached: mead.Attached) -> list[Any]:
    seen = [this.observation for this in attached.decisions if this.observation]
    return [observation.operators["slow"] for observation in seen]


@needs_groups
def test_acting_throttles_the_workers_and_detaching_leaves_nothing(
    slow: StreamingQuery, monkeypatch: pytest.MonkeyPatch
) -> None:
    homes, delays_s = {}, list[float]()

    def measured_delay_s(opener: Opener) -> float:
        delays_s.append(measure_actuation_delay_s(opener))
        return delays_s[-1]

    monkeypatch.setattr("mead.cpu.share_probe.measure_actuation_delay_s", measured_delay_s)
    low = StaticOptions(share=0.2)
    with mead.attach(slow, "p95 <= 2 s", mode="act", policy=low, shares=(0.2, 2.0)) as attached:
        assert [attached.session.loop.knowledge.actuation_delay_s] == delays_s
        assert attached.savings() is None  # what it would be is what it is
        (folder, *_) = attached.engine.adoption.folders
        homes = attached.engine.adoption._homes
        wait(lambda: 0.2 in [this.in_force["slow"].share for this in attached.decisions if this.in_force])
        assert quota(folder) == 0.2
        assert weight(folder.parent) == 2  # two workers work at the same time, and lose nothing to others by the group
        since = len(attached.decisions)
        wait(lambda: sum(o.throttled_s for o in readings(attached)[since:]) > 0)
        wait(lambda: len(attached.decisions) >= since + 5)
        busy_s, passed_s = (sum(values) for values in zip(*measured(attached, since), strict=True))
        assert busy_s <= TOLERANCE * 0.2 * passed_s, "more than the share gives"
        assert throttled(folder) > 0
        with pytest.raises(mead.AttachError, match="another run already limits"):
            mead.attach(slow, "p95 <= 2 s", mode="act")
        wait(lambda: set(attached.engine.pids) <= set(read_processes(folder)))  # Spark ends idle workers when it likes
        pids = attached.engine.pids
    assert slow.isActive
    assert not attached.active
    assert not folder.parent.exists()
    assert all(find_other_group(pid) is None for pid in pids)

    def alive() -> set[int]:
        return {pid for pid in pids if Path(f"/proc/{pid}/exe").exists()}

    wait(lambda: all(alive() <= set(read_processes(home)) for home in homes.values()))


def measured(attached: mead.Attached, since: int) -> list[tuple[float, float]]:
    """CPU seconds of the workers, and the seconds in which they used them, of the rounds after so many."""
    seen = [this.observation for this in attached.decisions[since:] if this.observation]
    return [(observation.operators["slow"].busy_s, observation.interval_s) for observation in seen]


def quota(folder: Path) -> float:
    if (folder / "cpu.max").exists():
        quota_us, period_us = (folder / "cpu.max").read_text().split()
        return int(quota_us) / int(period_us)
    return int((folder / "cpu.cfs_quota_us").read_text()) / int((folder / "cpu.cfs_period_us").read_text())


def weight(folder: Path) -> float:
    if (folder / "cpu.weight").exists():
        return int((folder / "cpu.weight").read_text()) / 100
    return int((folder / "cpu.shares").read_text()) / 1024


def throttled(folder: Path) -> int:
    return read_counters(folder / "cpu.stat")["nr_throttled"]


@needs_groups
def test_a_query_without_python_is_observed_and_its_plan_not_applied(spark: SparkSession) -> None:
    query = start_query(rate(spark).selectExpr("value + 1"), "java only")
    attached = mead.attach(query, "mean <= 5 s", mode="act", policy=StaticOptions(share=0.5), shares=(0.5, 2.0))
    wait(lambda: attached.engine.paths["java only"].whole.total > ROWS_PER_S)
    wait(lambda: "no Python workers of the query run" in attached.decisions[-1].error)
    last = attached.decisions[-1]
    assert last.in_force is not None
    assert last.in_force["java only"].share == 2.0
    # Rows are counted within a round, and the round is there when it is over.
    wait(lambda: any(d.observation.operators["java only"].busy_s > 0 for d in attached.decisions if d.observation))
    assert "modelled" in attached.status()
    assert "no Python workers" in attached.status()
    (folder, *_) = attached.engine.adoption.folders
    query.stop()
    wait(lambda: not attached.active)
    assert not folder.parent.exists()
    assert "detached" in attached.status()
    with pytest.raises(mead.AttachError, match="is not running"):
        mead.attach(query, "mean <= 5 s")


def test_a_program_that_attaches_again_and_again_keeps_no_handle_whose_query_has_ended(spark: SparkSession) -> None:
    query = start_query(rate(spark), "short")
    handle = weakref.ref(mead.attach(query, "mean <= 5 s"))
    query.stop()

    def forgotten() -> bool:
        gc.collect()
        return handle() is None

    wait(forgotten)


@needs_groups
def test_what_cannot_be_put_back_is_told(
    slow: StreamingQuery, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    attached = mead.attach(slow, "mean <= 100 s", mode="act", policy=StaticOptions(share=2.0), shares=(0.2, 2.0))
    shares = attached.engine.shares
    assert shares is not None
    close = shares.close

    def refused() -> None:
        close()
        raise OSError(errno.EBUSY, "Device or resource busy", "/groups/mead-1")

    monkeypatch.setattr(shares, "close", refused)
    attached.detach()
    told = "not everything could be put back as it was: [Errno 16] Device or resource busy: '/groups/mead-1'"
    assert told in attached.notes
    assert told in caplog.text


def test_a_controller_that_dies_is_started_again(slow: StreamingQuery, caplog: pytest.LogCaptureFixture) -> None:
    with mead.attach(slow, "mean <= 100 s") as attached:
        wait(lambda: attached.decisions)
        record, died = attached.session.loop.record, list[Round]()

        def die_once(this: Round) -> None:
            if not died:
                died.append(this)
                raise Stopped  # it ends the thread, although nobody has stopped the clock
            record(this)

        attached.session.loop.record = die_once
        wait(lambda: died)
        before = len(attached.decisions)
        wait(lambda: len(attached.decisions) > before + 1)
        assert attached.active
        assert "the controller ended before its time and is started again" in attached.notes
    assert "started again" in caplog.text
    assert attached.decisions[-1].time_s > died[0].time_s


def test_rows_from_the_future_are_seen_and_not_used(spark: SparkSession) -> None:
    late = rate(spark).selectExpr("timestamp + interval 1 hour as timestamp", "value")
    query = start_query(mead.stamped(late, "timestamp"), "tomorrow")
    with mead.attach(query, "mean <= 5 s") as attached:
        wait(lambda: any(this.observation and this.observation.missing for this in attached.decisions))
        faults = {this.observation.missing for this in attached.decisions if this.observation} - {""}
        assert faults == {"tuples of tomorrow are said to have arrived in the future"}
        assert attached.engine.paths["tomorrow"].whole.total == 0
    query.stop()


FORGETFUL = """
import sys, time
import mead
from mead.clock import Stopped
from mead.policies.baselines.static import StaticOptions
from mead.spark.runtime.spark_session import start_session

spark = start_session("forgetful", master="local[2]")
rows = spark.readStream.format("rate").option("rowsPerSecond", 50).load()
query = rows.mapInArrow(lambda batches: batches, rows.schema).writeStream.format("noop").queryName("left").start()
attached = mead.attach(query, "mean <= 5 s", mode="act", policy=StaticOptions(share=0.5), shares=(0.5, 2.0))
while not any(this.in_force and this.in_force["left"].share == 0.5 for this in attached.decisions):
    time.sleep(0.1)
(folder, *_) = attached.engine.adoption.folders
print(folder, folder.exists(), flush=True)
"""


@needs_groups
def test_a_program_that_ends_without_detaching_leaves_no_group() -> None:
    done = subprocess.run([sys.executable, "-c", FORGETFUL], check=True, capture_output=True, text=True)
    folder, existed = done.stdout.split()
    assert existed == "True"
    assert not Path(folder).parent.exists()


def test_a_stamp_must_be_one(spark: SparkSession) -> None:
    with pytest.raises(ValueError, match="valu is not among timestamp, value"):
        mead.stamped(rate(spark), "valu")


def micro_batch(started_us: int, took_us: int) -> BatchReport:
    return BatchReport("q", "r", 0, 1, started_us, started_us + took_us, took_us / 1e6, {}, None, {})


def test_modelled_response_times_of_steady_arrivals_are_right_in_the_mean() -> None:
    """A gated server, tuple by tuple: each micro-batch takes what has come by then."""
    rng = np.random.default_rng(1)
    arrivals_us = np.cumsum(rng.exponential(1e6 / 500, 50_000))
    done, now_us, exact, modelled, before = 0, arrivals_us[0], [], [], None
    while True:
        end = int(np.searchsorted(arrivals_us, now_us, side="right"))
        if end >= arrivals_us.size:
            break
        took_us = 200_000 + 1_000 * (end - done)
        batch = micro_batch(round(now_us), took_us)
        since_us = came_since_us(batch, before, None)
        if since_us is not None:
            exact.append((now_us + took_us - arrivals_us[done:end]).sum())
            modelled.append(
                (batch.done_us - Stamps.spread(end - done, since_us, batch.started_us).mean_us) * (end - done)
            )
        before, done, now_us = batch, end, now_us + took_us
    assert sum(modelled) == pytest.approx(sum(exact), rel=0.01)


def test_after_a_pause_rows_have_come_since_the_source_was_last_asked() -> None:
    before, after = micro_batch(0, 200_000), micro_batch(60_000_000, 200_000)
    assert came_since_us(after, before, None) == 60_000_000 - 10_000
    assert came_since_us(after, before, trigger_s=5.0) == 55_000_000
    assert came_since_us(micro_batch(5_000_000, 1), before, trigger_s=5.0) == 0
    assert came_since_us(before, None, None) is None


def test_live_advice_says_what_the_command_says_of_a_log(spark: SparkSession) -> None:
    rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 40).load()
    query = start_query(rows.repartition(3), "light")
    try:
        with mead.attach(query, requirement="mean <= 1000 s") as attached:
            wait(lambda: attached.advice().queries)
            advice = attached.advice(price_per_core_hour=0.04)
    finally:
        query.stop()
    (found,) = advice.queries
    assert found.now == 2
    assert found.batches >= 5
    assert not found.record.stamped
    text = str(advice)
    assert re.search(r"light: (Keep|Take) .* of 1000 s, [\d.]+ a month", text)
    assert "reports have no task times: 3 equal tasks are assumed" in text
    seen = found.seen
    parts_s = seen.wait_s + seen.backlog_s + seen.planning_s + seen.work_s + seen.commit_s
    assert parts_s == pytest.approx(seen.mean_s)
