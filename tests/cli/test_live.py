"""``mead demo`` and ``mead run`` on real Spark with real control groups."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.cli import program

from mead.applications.log_analysis.parser import parse
from mead.execute.detect import detect
from mead.knowledge.history.file import History
from mead.knowledge.history.schema import HistoryError
from mead.workload.log_lines import log_lines

complaint = partial(program.complaint, "run")

PIPELINE = """
name: lines
shares: [0.5, 1.0]
operators:
  - name: parser
    demand_s: 0.0001
    batch: {overhead_s: 0.06, trigger_s: 0.1}
    function: mead.applications.log_analysis.parser:parse
  - name: counter
    demand_s: 0.0001
    batch: {overhead_s: 0.1, trigger_s: 0.5}
    transform: mead.applications.log_analysis.counter:count
edges: [[parser, counter]]
requirements: [{path: parser>counter, mean_s: 2.0}]
source:
  generate:
    kind: poisson
    options: {rate_per_s: 200, count: 3000}
    payload: {function: "mead.workload.log_lines:log_lines", columns: line string}
policy: {name: adaptive}
"""

needs_shares = pytest.mark.skipif(detect().kind == "none", reason=f"CPU shares cannot be set here: {detect()}")


def left_behind() -> set[str]:
    """Control groups whose application has ended; its process id stands in the name."""
    groups = {path.name for path in Path("/sys/fs/cgroup/cpu").glob("mead-*")}
    return {name for name in groups if not Path("/proc", name.split("-")[1]).exists()}


def totals(folder: Path) -> dict[tuple[str, str], int]:
    """The last count of every component and level."""
    rows = pq.read_table(folder / "results/counter").to_pylist()
    last: dict[tuple[str, str], int] = {}
    for row in rows:
        key = row["component"], row["level"]
        last[key] = max(last.get(key, 0), row["count"])
    return last


def expected(lines: int) -> dict[tuple[str, str], int]:
    numbers = np.arange(lines)
    columns = {"id": pa.array(numbers), "arrival_us": pa.array(numbers), "line": log_lines(numbers)["line"]}
    parsed = pa.Table.from_batches([parse(pa.record_batch(columns))])
    counted = parsed.group_by(["component", "level"]).aggregate([([], "count_all")]).to_pylist()
    return {(row["component"], row["level"]): row["count_all"] for row in counted}


@needs_shares
def test_the_demo_scales_a_pipeline_and_leaves_a_report(tmp_path: Path) -> None:
    before = left_behind()
    done = program.started("demo", "--duration", "15", "--folder", tmp_path / "demo", "--json")
    assert done.returncode == 0, done.stderr
    assert b"Watch it: http://127.0.0.1:" in done.stderr
    answer = json.loads(done.stdout)
    assert answer["pipeline"] == "log-analysis"
    assert answer["mode"] == "act"
    assert answer["drained"]
    assert answer["tuples"] > 1000
    path = answer["paths"]["parser>matcher"]
    assert 0 < path["p50_s"] <= path["p95_s"] <= path["p99_s"]
    assert path["required"] == {"mean_s": 1.0}
    assert set(answer["cores"]) == {"parser", "counter", "matcher"}
    assert all(entry["reason"] for entry in answer["timeline"])
    assert answer["engine_cpu"]["Spark (Java)"] > 0
    assert answer["full_share"]["cpu_share_mean"] == 1.0
    page = Path(answer["report"]).read_text()
    assert "<svg" in page
    assert not re.search(r'(src|href)="http', page), "it needs a network"
    assert pq.read_table(tmp_path / "demo/results/matcher").num_rows > 0
    assert left_behind() <= before
    runs = program.answer("history", str(tmp_path / "demo/history.sqlite"))["runs"]
    assert [(one["engine"], one["policy"]) for one in runs] == [("spark", "adaptive")]


@needs_shares
def test_a_run_that_is_killed_goes_on_and_an_interrupted_one_ends_in_good_order(tmp_path: Path) -> None:
    before = left_behind()
    file, folder = tmp_path / "lines.yaml", tmp_path / "run"
    file.write_text(PIPELINE)
    command = [str(program.PROGRAM), "run", str(file), "--folder", str(folder), "--json"]
    killed = subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL)
    try:
        _await(folder / "history.sqlite", killed)
        _await_rounds(folder / "history.sqlite", 1, 2)  # it is warm, and arrivals take their course by the clock
    finally:
        os.killpg(killed.pid, signal.SIGKILL)
        killed.wait()

    resumed = subprocess.Popen(command, start_new_session=True, stdout=subprocess.PIPE, text=True)
    _await_rounds(folder / "history.sqlite", 2, 12)
    os.killpg(resumed.pid, signal.SIGINT)  # as a terminal does: to Java and the workers, too
    output, _ = resumed.communicate(timeout=120)
    assert resumed.returncode == 0
    assert json.loads(output)["drained"]
    assert totals(folder) == expected(3000)
    assert left_behind() <= before


@needs_shares
def test_a_comparison_that_is_interrupted_shows_what_is_done(tmp_path: Path) -> None:
    before, folder = left_behind(), tmp_path / "comparison"
    options = ["--duration", "10", "--requirement", "mean=5", "--requirement", "mean=0.001", "--folder", str(folder)]
    policies = ["--policy", "static", "--policy", "static@share=0.55"]
    command = [str(program.PROGRAM), "evaluate", "live", *options, *policies, "--json"]
    process = subprocess.Popen(command, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    _await(folder / "rows.jsonl", process, limit_s=600.0)
    os.killpg(process.pid, signal.SIGINT)
    output, said = process.communicate(timeout=120)
    assert process.returncode == 0, said
    answer = json.loads(output)
    assert (answer["runs"], answer["done"]) == (2, 1)
    assert [(row["policy"], row["met"]) for row in answer["rows"]] == [("static", True), ("static", False)]
    assert [json.loads(line) for line in (folder / "rows.jsonl").read_text().splitlines()] == answer["rows"]
    assert b"run 1 of 2, about 2 min left: static (mean 5 s, mean 0.001 s)" in said
    assert b"interrupted, 1 of 2 runs are missing" in said
    assert left_behind() <= before


def _await(path: Path, process: subprocess.Popen[bytes], limit_s: float = 180.0) -> None:
    until_s = time.monotonic() + limit_s
    while not path.exists():
        assert process.poll() is None, "it ended by itself"
        assert time.monotonic() < until_s, f"{path} was not there after {limit_s:g} s"
        time.sleep(0.1)


def _await_rounds(file: Path, run: int, rounds: int, limit_s: float = 180.0) -> None:
    """Of a run in that history."""
    until_s = time.monotonic() + limit_s
    while True:
        with suppress(HistoryError), History.read(file) as past:  # until it is one: the file is there a moment before
            runs = past.runs()
            if len(runs) == run and runs[-1].rounds >= rounds:
                return
        assert time.monotonic() < until_s, f"no {rounds} rounds after {limit_s:g} s"
        time.sleep(0.5)


def test_a_pipeline_without_a_source_is_refused_in_one_line(tmp_path: Path) -> None:
    file = tmp_path / "none.yaml"
    file.write_text("name: none\noperators: [{name: one, demand_s: 0.001, function: 'math:sqrt', output: id bigint}]\n")
    assert "needs a source" in complaint(str(file), "--folder", str(tmp_path / "run"))


def test_a_function_that_is_not_there_is_refused_by_name(tmp_path: Path) -> None:
    file = tmp_path / "missing.yaml"
    file.write_text(
        "name: no\noperators: [{name: one, demand_s: 0.001, function: 'math:nothing', output: id bigint}]\n"
    )
    assert "math:nothing" in complaint(str(file), "--folder", str(tmp_path / "run"))


@pytest.mark.parametrize("command", [("demo",), ("evaluate", "live")])
def test_a_folder_that_holds_a_run_is_refused(tmp_path: Path, command: tuple[str, ...]) -> None:
    (tmp_path / "checkpoints").mkdir()
    said = program.complaint(*command, "--folder", tmp_path)
    assert (
        said
        == f"mead {' '.join(command)}: {tmp_path}: there is a run in it already, or something else; name a new folder"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoints"]
