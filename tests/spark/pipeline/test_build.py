"""From a pipeline file to a source and a pipeline as Spark runs it; no Spark needed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mead.config import PipelineFile, parse_pipeline, read_pipeline
from mead.keys import ConfigError
from mead.spark.pipeline.build import ARRIVALS, DEFAULT_OVERHEAD_S, live_pipeline, load_source, load_streams, load_work
from mead.spark.pipeline.run_folder import set_aside
from mead.spark.sources.broker_inputs import RabbitMQInput, SparkInput
from mead.spark.sources.inputs import TraceInput
from mead.spark.sources.rabbitmq.location import StreamLocation
from mead.spark.sources.rabbitmq.stream import Retention
from mead.spark.sources.trace import SPARE_S, read_times_us
from mead.values import Batches, Operator, Pipeline
from mead.workload import Trace

DURATION_S = 20.0


def file_with(folder: Path, source: str) -> PipelineFile:
    path = folder / "pipeline.yaml"
    path.write_text(f"name: one\noperators: [{{name: one, demand_s: 0.001}}]\n{source}")
    return read_pipeline(path)


def sourced(folder: Path, source: str, duration_s: float | None = DURATION_S) -> Any:
    before = list(folder.glob("run/*"))
    made = load_source(file_with(folder, source), folder, folder / "run", duration_s, folder / "warm-up")
    assert list(folder.glob("run/*")) == before, "nothing is written yet"
    (folder / "run").mkdir(exist_ok=True)
    made.prepare()
    return made


def arrivals(folder: Path) -> Any:
    return np.load(folder / "run" / ARRIVALS)


def test_a_trace_is_played_from_its_first_arrival_on(tmp_path: Path) -> None:
    (tmp_path / "trace.csv").write_text("timestamp_us\n5000000\n5250000\n7000000\n")
    source = sourced(tmp_path, "source: {trace: {path: trace.csv, speed: 2.0}}")
    assert isinstance(source, TraceInput)
    assert arrivals(tmp_path).tolist() == [0, 250_000, 2_000_000]


def test_generated_arrivals_last_as_long_as_the_run_and_its_warm_up(tmp_path: Path) -> None:
    sourced(tmp_path, "source: {generate: {kind: poisson, options: {rate_per_s: 100}, speed: 3.0, seed: 4}}")
    times_us = arrivals(tmp_path)
    assert times_us[0] == 0
    assert times_us[-1] / 1e6 == pytest.approx(3.0 * (DURATION_S + SPARE_S), rel=0.01)
    assert times_us.size == pytest.approx(100 * 3.0 * (DURATION_S + SPARE_S), rel=0.1)


def test_a_run_that_goes_on_keeps_its_arrivals(tmp_path: Path) -> None:
    text = "source: {generate: {kind: poisson, options: {rate_per_s: 100}, seed: %d}}"
    sourced(tmp_path, text % 1)
    first = arrivals(tmp_path)
    sourced(tmp_path, text % 2)
    assert np.array_equal(arrivals(tmp_path), first)


def test_a_run_that_starts_over_gets_new_arrivals_and_keeps_the_old_aside(tmp_path: Path) -> None:
    """Even if the old ones are damaged, and were read in this process before."""
    text, run = "source: {generate: {kind: poisson, options: {rate_per_s: 100, count: %d}}}", tmp_path / "run"
    assert read_times_us(sourced(tmp_path, text % 10).path).size == 10
    (run / ARRIVALS).write_text("damaged")
    new = load_source(
        file_with(tmp_path, text % 20), tmp_path, run, None, tmp_path / "warm-up", instead=None, start_over=True
    )
    new.check()
    assert (run / ARRIVALS).read_text() == "damaged", "nothing is changed before all checks are made"
    earlier = set_aside(run)
    assert earlier is not None
    new.prepare()
    assert (earlier / ARRIVALS).read_text() == "damaged"
    assert read_times_us(run / ARRIVALS).size == 20


def test_arrivals_can_be_given_instead_of_those_of_the_file(tmp_path: Path) -> None:
    file = file_with(tmp_path, "source: {generate: {kind: poisson, options: {rate_per_s: 100, count: 10}}}")
    given = Trace.from_iats_s([2.0])
    load_source(file, tmp_path, tmp_path, None, tmp_path / "warm-up", instead=given).prepare()
    assert np.load(tmp_path / ARRIVALS).tolist() == [0, 2_000_000]


def test_the_same_seed_gives_the_same_arrivals(tmp_path: Path) -> None:
    text = "source: {generate: {kind: map, options: {rate_per_s: 50, idc: 20, count: 500}, seed: 3}}"
    made = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        sourced(tmp_path / name, text, duration_s=None)
        made.append(arrivals(tmp_path / name))
    assert np.array_equal(*made)
    assert made[0].size == 500


def test_a_broker_and_a_stream_of_ones_own_need_no_file(tmp_path: Path) -> None:
    assert isinstance(sourced(tmp_path, "source: {rabbitmq: {stream: events}}"), RabbitMQInput)
    assert isinstance(sourced(tmp_path, "source: {stream: 'math:sqrt'}"), SparkInput)
    assert not (tmp_path / "run" / ARRIVALS).exists()


def test_operators_are_joined_by_logs_or_by_a_broker(tmp_path: Path) -> None:
    assert load_streams(file_with(tmp_path, "")) is None
    local = load_streams(file_with(tmp_path, "streams: {rabbitmq: {}}"))
    assert local is not None
    assert local.store("parser").place == StreamLocation(
        "amqp://guest:guest@127.0.0.1:5672/", "one.parser", create=True
    )
    told = load_streams(
        file_with(
            tmp_path, "streams: {rabbitmq: {url: 'amqp://host/', prefix: shop, max_age: 7D, max_length_bytes: 9}}"
        )
    )
    assert told is not None
    assert told.store("parser").place == StreamLocation(
        "amqp://host/", "shop.parser", create=True, retention=Retention("7D", max_length_bytes=9)
    )


@pytest.mark.parametrize(
    ("source", "complaint", "where"),
    [
        ("", "needs a source: trace, generate, rabbitmq or stream", ("source",)),
        ("source: {trace: {path: none.csv}}", "none.csv", ("source", "trace", "path")),
        ("source: {generate: {kind: tide}}", "unknown kind of arrivals 'tide'", ("source", "generate", "kind")),
        ("source: {generate: {kind: poisson}}", "give duration_s or count", ("source", "generate", "options")),
        (
            "source: {generate: {kind: poisson, options: {count: 5, hurst: 1}}}",
            "hurst",
            ("source", "generate", "options"),
        ),
        ("source: {stream: 'math:nothing'}", "cannot import `math:nothing`", ("source", "stream")),
    ],
)
def test_what_is_wrong_with_a_source_is_said_with_its_key(
    tmp_path: Path, source: str, complaint: str, where: tuple[str, ...]
) -> None:
    with pytest.raises(ConfigError, match=complaint) as caught:
        sourced(tmp_path, source, duration_s=None)
    assert caught.value.location == where


def test_operators_that_do_not_say_how_they_batch_are_told() -> None:
    own, told = Batches(0.3, 2.0), Batches(0.06, 0.1)
    pipeline = Pipeline("three", [Operator("a", 0.001, batches=own), Operator("b", 0.001), Operator("c", 0.001)])
    live = live_pipeline(pipeline, {"a": told, "b": told})
    assert [operator.batches for operator in live.operators] == [own, told, Batches(DEFAULT_OVERHEAD_S)]


@pytest.mark.parametrize(
    ("keys", "where"),
    [
        ("operators: [{name: a, demand_s: 1, grouping: {kind: shuffle}}]", ("operators", 0, "grouping", "kind")),
        ("operators: [{name: a, demand_s: 1}]\nprocessors: 3", ("processors",)),
    ],
)
def test_what_is_for_virtual_time_is_refused_live(tmp_path: Path, keys: str, where: tuple[str, ...]) -> None:
    file = parse_pipeline(f"name: virtual\n{keys}\n".encode())
    with pytest.raises(ConfigError, match="only applies to virtual time") as caught:
        load_work(file, tmp_path)
    assert caught.value.location == where
