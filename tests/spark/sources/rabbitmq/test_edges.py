"""Operators that are joined by RabbitMQ: what is published twice counts once, whatever is killed in the middle."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Thread
from time import monotonic, sleep
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from tests.programs import program
from tests.spark import log_pipeline as logs
from tests.spark.sources.rabbitmq.broker import all_of
from tests.spark.sources.rabbitmq.broker_analysis import LINES, PAUSE_S, analysis
from tests.waiting import PATIENCE_S

from mead.cpu import DryRunShares
from mead.spark.log.tasks import write_number
from mead.spark.pipeline.engine import SparkEngine
from mead.spark.pipeline.operators import OperatorError
from mead.spark.pipeline.running import RunningPipeline
from mead.spark.sources.rabbitmq.blocks import RabbitStreams
from mead.spark.sources.rabbitmq.broker import LOOPBACK, PrivateBroker, free_ports
from mead.spark.sources.rabbitmq.location import OPEN_STREAMS, StreamLocation
from mead.spark.sources.rabbitmq.stream import Retention
from mead.values import Observation

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytest.importorskip("pika")

pytestmark = pytest.mark.slow

SOME = 100
"""Parsed lines after which something is killed."""


def wait(until: Callable[[], bool], alive: Callable[[], bool] = lambda: True) -> None:
    limit_s = monotonic() + PATIENCE_S
    while not until():
        assert alive(), "it ended by itself"
        assert monotonic() < limit_s, "nothing comes of it"
        sleep(0.05)


def parsed(folder: Path) -> int:
    return logs.stream(folder, "parser").end


def all_in(running: RunningPipeline) -> bool:
    running.revive()
    last = running.queries["parser"].last
    return last is not None and running.source.count_completed(last) == LINES


def messages(url: str, stream: str, folder: Path) -> pa.Table:
    """All that were published, whoever counts them."""
    write_number(folder / "tasks", 1)
    found = all_of(StreamLocation(url, stream), folder)
    OPEN_STREAMS.drop()
    return found


def test_totals_are_exact_though_the_application_is_killed(
    spark: SparkSession, broker: PrivateBroker, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    command = program("tests.spark.sources.rabbitmq.broker_analysis", folder, broker.url, "killed")
    application = subprocess.Popen(command, start_new_session=True)
    try:
        wait(lambda: parsed(folder) >= SOME, lambda: application.poll() is None)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(application.pid, signal.SIGKILL)  # Python and Java at once
        application.wait()
    before = parsed(folder)
    assert before < logs.parsed(LINES).num_rows, "it was killed in the middle"
    running = analysis(spark, folder, broker.url, "killed", PAUSE_S, speed=PAUSE_S)
    try:
        running.start()
        wait(lambda: all_in(running))
        assert running.drain(PATIENCE_S), running.restarts
    finally:
        running.stop()
    assert logs.totals(folder) == logs.expected_totals(LINES)
    assert logs.matches(folder) == logs.expected_matches(LINES)
    assert logs.stream(folder, "matcher").counted == logs.expected_counts(LINES)
    assert not (folder / "streams/parser/data").exists(), "its rows are with the broker"


class Killed:
    """A broker that is killed and started again."""

    def __init__(self, broker: PrivateBroker) -> None:
        self.broker, self.back = broker, False
        self.thread = Thread(target=self.restart)

    def restart(self) -> None:
        self.broker.kill()
        self.broker.start()
        self.back = True


def test_totals_and_readings_are_exact_though_the_broker_is_killed(
    spark: SparkSession, broker: PrivateBroker, tmp_path: Path
) -> None:
    folder, crash, seen = tmp_path / "run", Killed(broker), list[Observation]()
    running = analysis(spark, folder, broker.url, "restarted")
    try:
        running.start()
        engine, began_s = SparkEngine(running, kept_iats=LINES), monotonic()

        def over() -> bool:
            seen.append(engine.observe(monotonic() - began_s))
            if parsed(folder) >= SOME and crash.thread.ident is None:
                crash.thread.start()
            return crash.back and all_in(running)

        wait(over)
        assert running.drain(PATIENCE_S), running.restarts
        wait(lambda: engine.observe(monotonic() - began_s).operators["matcher"].backlog == 0)
        engine.close()
    finally:
        running.stop()
        crash.thread.join()
    rows = logs.parsed(LINES).num_rows
    assert logs.totals(folder) == logs.expected_totals(LINES)
    assert logs.matches(folder) == logs.expected_matches(LINES)
    assert logs.stream(folder, "matcher").counted == logs.expected_counts(LINES)
    states = engine.states
    assert {name: state.completed for name, state in states.items()} == {
        "parser": LINES,
        "counter": rows,
        "matcher": rows,
    }
    before = {name: state.before for name, state in states.items()}
    assert {name: before[name] + state.rows_in for name, state in states.items()} == {
        "parser": LINES,
        "counter": rows,
        "matcher": rows,
    }
    assert engine.paths[logs.PATH].whole.total == states["matcher"].rows_in, "each has one response time"
    assert sum(reading.operators["matcher"].arrived for reading in seen) <= rows
    keys = messages(broker.url, "restarted.parser", tmp_path)["key"].to_pylist()
    query = str(running.queries["parser"].running.id)
    assert {key.rpartition(":")[0].rpartition(":")[0].rpartition(":")[0] for key in keys} == {query}


def test_a_broker_that_is_not_there_is_told_before_anything_starts(spark: SparkSession, tmp_path: Path) -> None:
    (port,) = free_ports(1)
    pipeline, streams = logs.pipeline(), RabbitStreams(f"amqp://{LOOPBACK}:{port}/", "nowhere", Retention())
    shares = DryRunShares([operator.name for operator in pipeline.operators])
    running = RunningPipeline(spark, pipeline, logs.source(tmp_path, [0.0]), logs.work(), tmp_path, shares, streams)
    with pytest.raises(OperatorError, match="operator parser: cannot open the stream for its output: no connection to"):
        running.start()
