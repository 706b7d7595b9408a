"""`mead run` after ``rm -r checkpoints``, the usual reset of a Spark query: refused in one line, or started over."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.cli import program
from tests.faults.test_damaged_log import content
from tests.spark import log_pipeline as logs
from tests.waiting import PATIENCE_S

from mead.history import IN_FOLDER, History
from mead.spark.pipeline.build import ARRIVALS

pytestmark = [pytest.mark.slow, pytest.mark.spark]

LINES = 400
PIPELINE = f"""
name: lines
operators:
  - {{name: parser, demand_s: 0.0001, function: "mead.demo.parser:parse"}}
  - name: matcher
    demand_s: 0.0003
    function: mead.demo.matcher:make_matcher
    options: {{tried: {logs.TRIED}}}
edges: [[parser, matcher]]
source:
  generate:
    kind: poisson
    options: {{rate_per_s: 200, count: {LINES}}}
    payload: {{function: "mead.demo.log_lines:log_lines", columns: line string}}
policy: {{name: static}}
"""


def finished(*words: program.Word) -> subprocess.CompletedProcess[str]:
    with program.hurried(*words) as process:
        out, said = process.communicate(timeout=PATIENCE_S)
    return subprocess.CompletedProcess(process.args, process.returncode, out, said)


def test_a_run_without_its_checkpoints_is_refused_and_can_start_over(tmp_path: Path) -> None:
    file, folder = tmp_path / "lines.yaml", tmp_path / "run"
    file.write_text(PIPELINE)
    run: tuple[program.Word, ...] = ("run", file, "--mode", "observe", "--duration", 5, "--folder", folder, "--json")
    first = finished(*run)
    assert first.returncode == 0, first.stderr
    assert logs.matches(folder) == logs.expected_matches(LINES)
    shutil.rmtree(folder / "checkpoints")
    before = content(folder / "streams") | content(folder / "results")

    refused = finished(*run)
    assert refused.returncode != 0
    assert refused.stdout == ""
    (line,) = [line for line in refused.stderr.splitlines() if "checkpoints" in line]
    assert f"{folder}/checkpoints/parser: deleted or replaced" in line
    assert line.endswith("in this one with --start-over (in Python, start_over=True)")
    assert "Traceback" not in refused.stderr
    assert content(folder / "streams") | content(folder / "results") == before
    with History.read(folder / IN_FOLDER) as history:
        assert len(history.runs()) == 1, "the report is still that of the first run"

    arrivals = (folder / ARRIVALS).read_bytes()
    file.write_text(PIPELINE.replace(f"count: {LINES}", f"count: {LINES // 2}"))
    again = finished(*run, "--start-over")
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["drained"]
    assert logs.matches(folder) == logs.expected_matches(LINES // 2), "its arrivals are new too"
    (earlier,) = (folder / "earlier").iterdir()
    assert f"are now in {earlier}" in again.stderr
    assert (earlier / ARRIVALS).read_bytes() == arrivals
    assert list((content(earlier / "streams") | content(earlier / "results")).values()) == list(before.values())
