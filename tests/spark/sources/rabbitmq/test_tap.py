"""A second reader of a RabbitMQ stream: what arrives is known before the pipeline has read it. No Spark needed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic, sleep, time_ns
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import numpy as np
import pytest
from tests.waiting import PATIENCE_S

from mead.cpu import DryRunShares
from mead.spark.pipeline import engine as engine_module
from mead.spark.pipeline.engine import SparkEngine
from mead.spark.pipeline.wiring import Wiring
from mead.spark.sources.broker_inputs import RabbitMQInput
from mead.spark.sources.rabbitmq import OPEN_STREAMS, OutgoingMessage, PrivateBroker, StreamLocation, publish
from mead.spark.sources.rabbitmq.tap import RabbitTap
from mead.spark.telemetry.reports import FinishedBatch
from mead.values import Operator, Pipeline

OLD, MORE = 70, 200
ONE = Pipeline("one", [Operator("parser", 0.001)])


@pytest.fixture
def place(broker: PrivateBroker) -> Iterator[StreamLocation]:
    """A stream in which messages wait already."""
    here = StreamLocation(broker.url, f"tapped-{uuid4().hex[:8]}", create=True)
    publish(here, (OutgoingMessage(b"old") for _ in range(OLD)))
    yield here
    OPEN_STREAMS.drop()


@contextmanager
def tapping(place: StreamLocation, **options: Any) -> Iterator[RabbitTap]:
    tap = RabbitTap(place, **options)
    tap.start(PATIENCE_S)
    try:
        yield tap
    finally:
        tap.close()


def wait(until: Callable[[], bool]) -> None:
    limit_s = monotonic() + PATIENCE_S
    while not until():
        assert monotonic() < limit_s
        sleep(0.01)


def now_us() -> int:
    return time_ns() // 1000


def test_arrivals_and_backlog_are_known_though_nothing_has_been_read(
    place: StreamLocation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The operator has not finished a micro-batch, and may never."""
    reports = SimpleNamespace(fetch=list, close=lambda: None)
    monkeypatch.setattr(engine_module, "ReportQueue", lambda _: reports)
    monkeypatch.setattr(engine_module, "Executors", lambda _: SimpleNamespace(follow=lambda _: None, local=True))
    monkeypatch.setattr(engine_module, "java_pid", lambda _: os.getpid())
    source = RabbitMQInput(place.options, tapped=True)
    running: Any = SimpleNamespace(
        pipeline=ONE,
        spark=SimpleNamespace(sparkContext=None),
        inputs={"parser": source},
        queries={"parser": SimpleNamespace(last=None)},
        wiring=Wiring(ONE),
        shares=DryRunShares(["parser"]),
        first_allocation=ONE.most,
        follows=False,
    )
    engine = SparkEngine(running, kept_iats=10 * MORE)
    try:
        seen = [engine.observe(1.0)]
        assert (seen[0].operators["parser"].backlog, seen[0].iats_s.size) == (OLD, 0), "arrivals of old ones are past"
        steps_us = np.random.default_rng(1).exponential(5_000, MORE).astype(np.int64)
        stamps_us = now_us() - steps_us.sum() + np.cumsum(steps_us)
        publish(place, (OutgoingMessage(b"new", arrival_us=int(stamp_us)) for stamp_us in stamps_us))

        def all_seen() -> bool:
            seen.append(engine.observe(1.0 + len(seen)))
            return seen[-1].iats_s.size == MORE - 1

        wait(all_seen)
        assert np.allclose(seen[-1].iats_s, np.diff(stamps_us) / 1e6)
        readings = [observation.operators["parser"] for observation in seen]
        assert sum(reading.arrived for reading in readings) == readings[-1].backlog == OLD + MORE
        assert sum(reading.completed for reading in readings) == 0
        wait(lambda: engine.observe(1e3).counts.sum() >= MORE - (stamps_us > stamps_us[-1] - 200_000).sum())
        done = FinishedBatch(0, {"offset": OLD})
        source.insist()
        assert source.count_arrived(done) == OLD + MORE, "the broker says the same"
    finally:
        engine.close()
        source.close()


def test_a_message_without_a_time_stamp_arrives_when_the_broker_has_it(place: StreamLocation) -> None:
    with tapping(place) as tap:
        assert (tap.first, tap.end) == (0, OLD)
        for bunch in range(3):
            idle_us = now_us()
            wait(lambda since_us=idle_us: tap.read().known_us > since_us)  # type: ignore[misc]
            publish(place, (OutgoingMessage(b"new") for _ in range(MORE)))
            wait(lambda end=OLD + (bunch + 1) * MORE: tap.end == end)  # type: ignore[misc]
            (stamps,) = tap.read().arrivals
            assert stamps.rows == MORE
            assert idle_us < stamps.at_ranks_us[0] <= stamps.at_ranks_us[-1] <= now_us(), "none before, none after"


def test_of_too_many_messages_a_part_is_counted_without_being_read(place: StreamLocation) -> None:
    with tapping(place, most_per_s=10) as tap:
        publish(place, (OutgoingMessage(b"new", arrival_us=1) for _ in range(MORE)))
        wait(lambda: tap.end == OLD + MORE)
        reading = tap.read()
        skipped, read = reading.arrivals[:-1], reading.arrivals[-1]
        assert sum(stamps.rows for stamps in reading.arrivals) == MORE
        assert read.at_ranks_us[-1] == 1, "those were read"
        assert sum(stamps.rows for stamps in skipped) > MORE / 2
        assert all(stamps.at_ranks_us[-1] <= reading.known_us for stamps in skipped)


def test_a_pipeline_that_begins_at_the_end_has_nothing_waiting_before_it_reads(place: StreamLocation) -> None:
    source = RabbitMQInput({**place.options, "startingOffsets": "latest"}, tapped=True)
    try:
        tap = source.tap()
        assert tap is not None
        assert (tap.first, tap.end) == (None, OLD)
        assert source.count_arrived(None) is None
        assert source.count_arrived(FinishedBatch(0, {"offset": OLD})) == OLD
    finally:
        source.close()


def test_a_source_that_is_not_tapped_has_no_second_reader(place: StreamLocation) -> None:
    assert RabbitMQInput(place.options).tap() is None


@pytest.mark.slow
def test_what_came_while_the_broker_was_away_counts_when_it_is_back(
    broker: PrivateBroker, place: StreamLocation
) -> None:
    with tapping(place) as tap:
        publish(place, (OutgoingMessage(b"new") for _ in range(MORE)))
        wait(lambda: tap.end == OLD + MORE)
        broker.stop()
        wait(lambda: tap.end is None)
        broker.start()
        publish(place, (OutgoingMessage(b"late") for _ in range(MORE)), reached=True)
        wait(lambda: tap.end == OLD + 2 * MORE)
        assert sum(stamps.rows for stamps in tap.read().arrivals) == 2 * MORE
