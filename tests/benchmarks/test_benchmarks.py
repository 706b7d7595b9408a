"""Benchmarks take minutes, so nobody runs them with every change. A small part of each is run here instead."""

from __future__ import annotations

import importlib
import runpy
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from tests.paths import ROOT

from mead.cpu import detect
from mead.queueing import MAP
from mead.spark.log.stream_log import StreamLog
from mead.workload import Trace

FOLDER = ROOT / "benchmarks"
SCRIPTS = sorted(FOLDER.glob("bench_*.py"))
WITH_OPTIONS = [script for script in SCRIPTS if "argparse" in script.read_text(encoding="utf-8")]


@dataclass(frozen=True)
class Part:
    """Of a benchmark: what can be run in a second or two."""

    run: Callable[[Any, Path], object]
    """Takes the module and an empty folder."""
    constants: Mapping[str, Any] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()


def _shares(bench: Any, _: Path) -> None:
    if detect().kind == "none":
        pytest.skip(f"CPU shares cannot be set here: {detect()}")
    assert bench.cost_table().row_count == 3


def _log_of_a_stream(bench: Any, folder: Path) -> None:
    written, read = bench.log_rates(folder / "log")
    assert "to" in written
    assert "to" in read
    log = StreamLog(folder / "log")
    assert log.end == bench.ROUNDS * bench.MESSAGES
    assert log.last == bench.ROUNDS * bench.MESSAGES // bench.BATCH - 1


def _characterized(bench: Any, folder: Path) -> None:
    bench.write_arrivals(folder / "some.parquet", 1)
    assert bench.in_memory(folder / "some.parquet").seconds > 0


def _forecast(bench: Any, _: Path) -> None:
    one = bench.score("basic", bench.Series("steady", np.full(30, 7.0), 12, 6))
    assert np.all(one.mean < 1e-9)
    assert bench.interval(one.mean) == pytest.approx((0.0, 0.0), abs=1e-9)


def _fitted(bench: Any, _: Path) -> None:
    iats_s = MAP.two_state(300.0, idc=20.0).sample(2_000, np.random.default_rng(1))
    bench.single_window(iats_s, slice(0, 2_000), "A small window", {})


def _live(bench: Any, folder: Path) -> None:
    workload = bench.bellcore(30.0)
    assert workload.trace(1).duration_s == pytest.approx(30.0, abs=5.0)
    assert "arrivals" in workload.title
    assert bench.worker(None).row_count == 1
    light = bench.Light.of(folder, 100.0, 3.0, chosen=["matcher"])
    assert [len(operator.shares) > 1 for operator in light.pipeline.operators] == [False, False, True]


def _policies(bench: Any, _: Path) -> None:
    iats_s = MAP.two_state(300.0, idc=20.0).sample(9_000, np.random.default_rng(1))
    workload = bench.recorded("small", Trace.from_iats_s(iats_s), 30.0)
    cases = bench.cases_of(workload, ["mean=0.5"])
    bench.bench_rows("Small", cases, ["static"], [1], 1)


PARTS = {
    "applications": Part(lambda bench, _: bench.main(), {"POSTS": 40, "WINDOW": 20, "FRAMES": 4}),
    "arrivals": Part(lambda bench, _: bench.bench_files(), {"EVENTS": 1_000}),
    "brokers": Part(_log_of_a_stream, {"MESSAGES": 30, "BATCH": 10, "ROUNDS": 2}),
    "characterize": Part(_characterized, {"MILLION": 10_000}),
    "drs": Part(lambda bench, _: (bench.agreement(Console(), 2), bench.micro_batches(Console(), 5.0))),
    "execute": Part(_shares, {"CHANGES_TIMED": 4}),
    "fitting": Part(_fitted),
    "forecast": Part(_forecast),
    "grouping": Part(lambda bench, _: bench.virtual_time(), {"DURATION_S": 2.0}),
    "history": Part(lambda bench, _: bench.main(0.001), {"REPEATED_S": 20}),
    "live": Part(_live, {"WORKER_ROWS": (10,)}),
    "loop": Part(lambda bench, _: bench.main(), {"DURATION_S": 5, "RUNS": 1}),
    "micro_batch": Part(lambda bench, _: bench.PROFILES["all"]),
    "network": Part(lambda bench, _: bench.bench_graphs(500, 2)),
    "page": Part(lambda bench, _: bench.main(), {"DURATION_S": 20}),
    "policies": Part(_policies),
    "policies_models": Part(lambda bench, _: bench.main(), arguments=("--tuples", "2000")),
    "policies_search": Part(lambda bench, _: bench.main(), arguments=("--pipelines", "1")),
    "preference": Part(
        lambda bench, _: (bench.bench_queries(), bench.bench_peers((200,), most_width=3), bench.bench_merge()),
        {"SIZES": (50, 100)},
    ),
    "preference_stages": Part(lambda bench, _: bench.measure(2, 1, at_once=True), {"ROWS": 200}),
    "queues": Part(lambda bench, _: bench.bench_gigk(0.0005)),
    "state": Part(lambda bench, _: bench.main(), {"WINDOW": 200, "FILL": 100, "BATCHES": 1, "THRESHOLD": 6}),
    "simulate": Part(lambda bench, _: (bench.bench_speed(500), bench.bench_control()), {"CONTROLLED_S": 5}),
    "two_level": Part(lambda bench, _: bench.main(), arguments=("--duration", "20", "--seeds", "1")),
}


@pytest.fixture(autouse=True)
def as_a_script(monkeypatch: pytest.MonkeyPatch) -> None:
    """A script finds what it shares with others in its own folder."""
    monkeypatch.syspath_prepend(FOLDER)


def test_every_benchmark_has_a_part_that_is_tried() -> None:
    assert {script.stem.removeprefix("bench_") for script in SCRIPTS} == PARTS.keys()


@pytest.mark.parametrize("name", PARTS)
def test_a_part_of_the_benchmark_runs(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    bench, part = importlib.import_module(f"bench_{name}"), PARTS[name]
    for constant, small in part.constants.items():
        monkeypatch.setattr(bench, constant, small)
    monkeypatch.setattr(sys, "argv", [f"bench_{name}.py", *part.arguments])
    part.run(bench, tmp_path)


@pytest.mark.parametrize("script", WITH_OPTIONS, ids=lambda script: str(script.stem))
def test_options_are_explained(
    script: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", [str(script), "--help"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(script), run_name="__main__")
    assert ended.value.code == 0
    assert f"usage: {script.name}" in capsys.readouterr().out
