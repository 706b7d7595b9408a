"""``mead demo``, ``mead run``, ``mead evaluate --live`` and the experiment ``live`` on Spark with control groups."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from tests.cli import program
from tests.listening import descendants, listening_tcp
from tests.paths import EXAMPLES
from tests.spark import log_pipeline as logs
from tests.waiting import PATIENCE_S

from mead.cpu import detect, list_processes
from mead.cpu.detection import list_mounts
from mead.history import History, HistoryError

complaint = partial(program.complaint, "run")

LINES = 3000
PIPELINE = f"""
name: lines
shares: [0.5, 1.0]
operators:
  - name: parser
    demand_s: 0.0001
    batch: {{overhead_s: 0.06, trigger_s: 0.1}}
    function: mead.demo.parser:parse
  - name: counter
    demand_s: 0.0001
    batch: {{overhead_s: 0.1, trigger_s: 0.5}}
    function: mead.demo.counter:count
    key: [component, level]
  - name: matcher
    demand_s: 0.0003
    batch: {{overhead_s: 0.06, trigger_s: 0.1}}
    function: mead.demo.matcher:make_matcher
    options: {{tried: {logs.TRIED}}}
edges: [[parser, counter], [parser, matcher]]
requirements: [{{path: parser>counter, mean_s: 2.0}}]
source:
  generate:
    kind: poisson
    options: {{rate_per_s: 200, count: {LINES}}}
    payload: {{function: "mead.demo.log_lines:log_lines", columns: line string}}
policy: {{name: adaptive}}
"""

needs_shares = pytest.mark.skipif(detect().kind == "none", reason=f"CPU shares cannot be set here: {detect()}")


@contextmanager
def started(*words: program.Word) -> Iterator[subprocess.Popen[str]]:
    """With its Java machine; whatever happens, they are gone afterwards."""
    process = program.hurried(*words)
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def left_of(process: subprocess.Popen[str]) -> list[str]:
    """Control groups that an application has made, and processes that it has started for one of them."""
    name = f"mead-{process.pid}-"
    found = [str(group) for mount in list_mounts() for group in mount.path.glob(f"{name}*")]
    for other in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended in the meantime
            if name in (other / "environ").read_text(errors="replace"):
                found.append((other / "cmdline").read_text().replace("\0", " "))
    return found


def wait(process: subprocess.Popen[str], reached: Callable[[], bool], what: str) -> None:
    until_s = time.monotonic() + PATIENCE_S
    while not reached():
        assert process.poll() is None, f"it ended by itself: {process.communicate()}"
        assert time.monotonic() < until_s, what
        time.sleep(0.1)


def rounds(history: Path) -> list[int]:
    """Of every run in it; the file is there a moment before it is a history."""
    with suppress(HistoryError), History.read(history) as past:
        return [run.rounds for run in past.runs()]
    return []


def assert_nothing_is_left_of(process: subprocess.Popen[str]) -> None:
    """Processes take a moment to end."""
    until_s = time.monotonic() + PATIENCE_S
    while left_of(process) and time.monotonic() < until_s:
        time.sleep(0.1)
    assert left_of(process) == []


@pytest.mark.spark
@needs_shares
def test_the_demo_scales_a_pipeline_and_leaves_a_report(tmp_path: Path) -> None:
    with started("demo", "--duration", "10", "--folder", tmp_path / "demo", "--json") as process:
        output, said = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0, said
    assert "Watch it: http://127.0.0.1:" in said
    answer = json.loads(output)
    assert answer["pipeline"] == "log-analysis"
    assert answer["mode"] == "act"
    assert answer["drained"]
    assert answer["tuples"] > 500
    path = answer["paths"]["parser>matcher"]
    assert 0 < path["p50_s"] <= path["p95_s"] <= path["p99_s"]
    assert path["required"] == {"mean_s": 1.0}
    assert set(answer["cores"]) == {"parser", "counter", "matcher"}
    assert all(entry["reason"] for entry in answer["timeline"])
    assert answer["engine_cpu"]["Spark (Java)"] > 0
    assert answer["full_share"]["cpu_share_mean"] == 1.0
    page = Path(answer["report"]).read_text()
    assert "<title>log-analysis under adaptive</title>" in page
    assert not re.search(r'(src|href)="http', page), "it needs a network"
    assert pq.read_table(tmp_path / "demo/results/matcher").num_rows > 0
    assert_nothing_is_left_of(process)
    runs = program.answer("history", str(tmp_path / "demo/history.sqlite"))["runs"]
    assert [(one["engine"], one["policy"]) for one in runs] == [("spark", "adaptive")]


@pytest.mark.slow
@pytest.mark.spark
@needs_shares
def test_a_run_that_is_killed_goes_on_and_an_interrupted_one_ends_in_good_order(tmp_path: Path) -> None:
    file, folder, lines = tmp_path / "lines.yaml", tmp_path / "run", logs.parsed(LINES).num_rows
    file.write_text(PIPELINE)
    command = ("run", file, "--folder", folder, "--json")
    with started(*command) as killed:
        # It is warm, and arrivals take their course by the clock.
        wait(killed, lambda: any(done >= 2 for done in rounds(folder / "history.sqlite")), "no two rounds")
        os.killpg(killed.pid, signal.SIGKILL)
    assert 0 < logs.stream(folder, "parser").end < lines, "it was killed in the middle"

    with started(*command) as resumed:
        wait(resumed, lambda: logs.stream(folder, "parser").end == lines, "it does not go on")
        wait(resumed, lambda: rounds(folder / "history.sqlite")[1:] >= [1], "it decides nothing")
        os.killpg(resumed.pid, signal.SIGINT)  # as a terminal does: to Java and the workers, too
        output, said = resumed.communicate(timeout=PATIENCE_S)
    assert (resumed.returncode, said) == (0, "")
    assert json.loads(output)["drained"]
    assert logs.totals(folder) == logs.expected_totals(LINES)
    assert logs.matches(folder) == logs.expected_matches(LINES)
    for process in (killed, resumed):
        assert_nothing_is_left_of(process)


@pytest.mark.slow
@pytest.mark.spark
@needs_shares
def test_a_comparison_that_is_interrupted_shows_what_is_done(tmp_path: Path) -> None:
    folder, kept = tmp_path / "comparison", tmp_path / "comparison" / "rows.jsonl"
    options = ["--duration", "10", "--requirement", "mean=100", "--requirement", "mean=0.001", "--folder", str(folder)]
    policies = ["--policy", "static", "--policy", "static@share=0.55"]
    with started("experiments", "live", *options, *policies, "--demand", "0.0005", "--json") as process:
        wait(process, kept.exists, "no run is done")
        os.killpg(process.pid, signal.SIGINT)
        output, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, said
    answer = json.loads(output)
    assert (answer["runs"], answer["done"]) == (2, 1)
    assert [(row["policy"], row["met"]) for row in answer["rows"]] == [("static", True), ("static", False)]
    assert [json.loads(line) for line in kept.read_text().splitlines()] == answer["rows"]
    assert "run 1 of 2, about 2 min left: static (mean 100 s, mean 0.001 s)" in said
    assert "interrupted, 1 of 2 runs are missing" in said
    assert_nothing_is_left_of(process)


@pytest.mark.slow
@pytest.mark.spark
@needs_shares
def test_a_run_whose_java_is_killed_leaves_its_report_and_nothing_else(tmp_path: Path) -> None:
    file, folder = tmp_path / "lines.yaml", tmp_path / "run"
    file.write_text(PIPELINE)
    with started("run", file, "--folder", folder, "--json") as process:
        wait(process, lambda: any(done >= 2 for done in rounds(folder / "history.sqlite")), "no two rounds")
        (java,) = (one.pid for one in list_processes() if one.parent == process.pid and is_java(one.pid))
        assert all(address.is_loopback for address in listening_tcp(descendants(process.pid)).values())
        os.kill(java, signal.SIGKILL)
        output, said = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, said) == (1, "mead run: the run did not work: Java has ended\n")
    answer = json.loads(output)
    assert (answer["loss"], answer["failure"], answer["drained"]) == ("Java has ended", "Java has ended", False)
    assert answer["tuples"] > 0
    assert Path(answer["report"]).exists()
    assert rounds(folder / "history.sqlite")[0] >= 2
    assert_nothing_is_left_of(process)


def is_java(pid: int) -> bool:
    return Path(f"/proc/{pid}/exe").resolve().name == "java"


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


@pytest.mark.slow
@pytest.mark.spark
@needs_shares
def test_policies_are_compared_live_on_a_trace_of_the_user(tmp_path: Path) -> None:
    file, trace, folder = tmp_path / "lines.yaml", tmp_path / "arrivals.npy", tmp_path / "comparison"
    file.write_text(PIPELINE)
    np.save(trace, np.arange(4000) * 5_000)  # 200/s for 20 s, in microseconds
    words = ("--trace", trace, "--unit", "us", "--duration", 8, "--folder", folder, "--json")
    with started("evaluate", file, "--live", *words, "--policy", "static", "--policy", "static@share=0.5") as process:
        output, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, said
    answer = json.loads(output)
    assert (answer["engine"], answer["arrivals"]) == ("spark", "arrivals.npy")
    assert [one["policy"] for one in answer["policies"]] == ["static", "static@share=0.5"]
    full, half = (one["cores_mean"] for one in answer["policies"])
    assert full == pytest.approx(3.0)
    assert 1.5 <= half < full, "half of it, from the first round on"
    assert sorted(path.name for path in folder.iterdir()) == ["static", "static@share=0.5"]
    assert_nothing_is_left_of(process)


@pytest.mark.parametrize("command", [("demo",), ("evaluate", EXAMPLES / "pattern-detection.yaml", "--live")])
def test_a_folder_that_holds_a_run_is_refused(tmp_path: Path, command: tuple[program.Word, ...]) -> None:
    (tmp_path / "checkpoints").mkdir()
    said = program.complaint(*command, "--folder", tmp_path)
    assert said.endswith(f": {tmp_path}: there is a run in it already, or something else; name a new folder")
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoints"]
