"""The log analysis reads from RabbitMQ, which is killed and started again: totals are exact, decisions have reasons."""

from __future__ import annotations

import os
import re
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread
from time import sleep, time_ns
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.spark import log_pipeline as logs
from tests.spark.sources.rabbitmq.broker import all_of
from tests.waiting import PATIENCE_S

from mead.config import read_pipeline
from mead.cpu import DryRunShares
from mead.demo.log_lines import log_lines
from mead.demo.parser import parse_line
from mead.session import LiveResult, Observer, Session
from mead.spark.log.tasks import write_number
from mead.spark.pipeline.build import live_pipeline, load_source, load_work
from mead.spark.pipeline.run import run_pipeline
from mead.spark.pipeline.running import WARM_UP
from mead.spark.sources.rabbitmq.broker import PrivateBroker
from mead.spark.sources.rabbitmq.location import OPEN_STREAMS, StreamLocation
from mead.spark.sources.rabbitmq.publisher import OutgoingMessage, publish
from mead.values import Knowledge, Round

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytest.importorskip("pika")

pytestmark = pytest.mark.slow

AT_A_TIME, MORE = 20, 200
LONG_S = 3600.0

PIPELINE = """
name: shop
shares: [0.5, 1.0]
operators:
  - name: parser
    demand_s: 0.0001
    batch: {overhead_s: 0.05, trigger_s: 0.1}
    function: mead.demo.parser:make_parser
    options: {column: value}
  - name: counter
    demand_s: 0.0001
    batch: {overhead_s: 0.1, trigger_s: 0.2}
    function: mead.demo.counter:count
    key: [component, level]
edges: [[parser, counter]]
requirements: [{path: parser>counter, mean_s: 60}]
source: {rabbitmq: {url: "%s", stream: shop}}
policy: {name: adaptive, interval_s: 0.5}
"""


@dataclass
class Shop(Observer):
    """Writes lines all the time, and its broker is killed and started again meanwhile."""

    broker: PrivateBroker
    published: int = 0
    counted: int = 0
    seen: int | None = None
    """Lines that were counted when the broker was back."""
    back: Event = field(default_factory=Event)
    closed: Event = field(default_factory=Event)

    def __post_init__(self) -> None:
        self.place = StreamLocation(self.broker.url, "shop", create=True)
        self.published += publish(self.place, self.lines())
        self.writer = Thread(target=self.write)
        self.crash = Thread(target=self.restart)

    def lines(self) -> Iterator[OutgoingMessage]:
        """The next."""
        numbers = np.arange(self.published, self.published + AT_A_TIME)
        for n, line in zip(numbers.tolist(), log_lines(numbers)["line"].to_pylist(), strict=True):
            yield OutgoingMessage(line.encode(), f"line {n}", time_ns() // 1000)

    def write(self) -> None:
        while not self.closed.wait(0.05):
            self.published += publish(self.place, self.lines(), reached=True)
        OPEN_STREAMS.drop()

    def restart(self) -> None:
        sleep(1.0)  # the broker itself forgets streams that were declared less than half a second before a crash
        self.broker.kill()
        self.broker.start()
        self.back.set()

    def round(self, this: Round) -> None:
        """Close the shop in time. Lines written when it closes have to be counted, without a wait for them."""
        if this.observation is not None:
            self.counted += this.observation.operators["counter"].completed
        counted = self.counted
        if counted > MORE and self.crash.ident is None:
            self.crash.start()
        if self.back.is_set() and self.seen is None:
            self.seen = counted
        if self.seen is not None and counted > self.seen + MORE and not self.closed.is_set():
            self.closed.set()
            self.writer.join(PATIENCE_S)
            os.kill(os.getpid(), signal.SIGTERM)


@dataclass(frozen=True)
class Day:
    """What was written, and what came of it."""

    folder: Path
    lines: list[str]
    result: LiveResult


@pytest.fixture(scope="module")
def day(spark: SparkSession, broker: PrivateBroker, tmp_path_factory: pytest.TempPathFactory) -> Day:
    folder, shop = tmp_path_factory.mktemp("shop"), Shop(broker)
    (folder / "pipeline.yaml").write_text(PIPELINE % broker.url)
    file = read_pipeline(folder / "pipeline.yaml")
    pipeline, source = live_pipeline(file.pipeline), load_source(file, folder, folder, LONG_S, folder / WARM_UP)
    shop.writer.start()
    try:
        with closing(DryRunShares([operator.name for operator in pipeline.operators])) as shares:
            result = run_pipeline(
                Session(pipeline, file.policy, observers=[shop]),
                spark,
                Knowledge(pipeline),
                source,
                load_work(file, folder),
                folder,
                shares,
                duration_s=LONG_S,
            )
    finally:
        shop.closed.set()
        shop.writer.join(PATIENCE_S)
    reader = tmp_path_factory.mktemp("reader")
    write_number(reader / "tasks", 1)
    messages = all_of(shop.place, reader)
    OPEN_STREAMS.drop()
    assert set(messages["key"].to_pylist()) == {f"line {n}" for n in range(shop.published)}
    return Day(folder, [value.decode() for value in messages["value"].to_pylist()], result)


def test_totals_are_those_of_all_lines_that_were_written(day: Day) -> None:
    """Some are there twice: the broker did not live to confirm them."""
    whole = [parts for line in day.lines if (parts := parse_line(line)) is not None]
    assert logs.totals(day.folder) == Counter((component, level) for _, level, component, _ in whole)
    assert day.result.interrupted, "the end was asked for"
    assert day.result.drained
    assert day.result.first + day.result.tuples == len(day.lines)


def test_dropped_lines_are_counted(day: Day) -> None:
    malformed = sum(parse_line(line) is None for line in day.lines[day.result.first :])
    assert malformed > 0
    assert day.result.rows_in["parser"] - day.result.rows_out["parser"] == malformed


def test_the_allocation_has_a_reason_in_every_round(day: Day) -> None:
    assert day.result.failed_rounds == 0
    for this in day.result.rounds:
        assert this.in_force is not None
        day.result.pipeline.check(this.in_force)
        assert this.plan is not None
        assert this.plan.reason.facts


def test_while_the_broker_was_away_nothing_came(day: Day) -> None:
    readings = [this.observation.operators["parser"] for this in day.result.rounds if this.observation]
    course = "".join("." if reading.arrived == reading.completed == 0 else "|" for reading in readings)
    assert re.search(r"\|\.{2,}\|", course), course
