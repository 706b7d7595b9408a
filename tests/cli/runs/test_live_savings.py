"""``mead run --mode observe`` on real Spark: nothing is changed, and at the end it says what would have been."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli import program

pytestmark = [pytest.mark.slow, pytest.mark.spark]

PIPELINE = """
name: lines
shares: [0.25, 0.5, 1.0]
operators:
  - name: parser
    demand_s: 0.0001
    batch: {overhead_s: 0.06, trigger_s: 0.1}
    function: mead.demo.parser:parse
requirements: [{path: parser, mean_s: 2.0}]
source:
  generate:
    kind: poisson
    options: {rate_per_s: 200, count: 8000}
    payload: {function: "mead.demo.log_lines:log_lines", columns: line string}
policy: {name: adaptive}
"""


def test_who_observes_is_told_what_would_have_been_saved(tmp_path: Path) -> None:
    file, folder = tmp_path / "lines.yaml", tmp_path / "run"
    file.write_text(PIPELINE)
    words = ("--mode", "observe", "--duration", "15", "--folder", folder, "--json")
    done = program.started("run", file, *words)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["changes"] == 0
    savings = told["savings"]
    assert savings["cores_in_force"] == pytest.approx(1.0)
    assert 0.25 <= savings["cores_instead"] < 1.0  # 200 lines a second take a fiftieth of a core
    assert savings["saved"] == pytest.approx(1 - savings["cores_instead"] / savings["cores_in_force"])
    (predicted_s,) = savings["predicted_s"].values()
    assert 0 < predicted_s < 2.0
    (again,) = program.answer("report", folder)["runs"]
    for key in ("cores_in_force", "cores_instead", "predicted_s"):
        assert again["savings"][key] == pytest.approx(savings[key], rel=1e-6)
    assert again["paths"]["parser"]["p95_s"] == pytest.approx(told["paths"]["parser"]["p95_s"])
    assert "In mode act: " in (folder / "report.html").read_text()
