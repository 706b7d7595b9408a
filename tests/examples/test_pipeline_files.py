"""The pipeline files of the applications run in virtual time as on Spark, under policies that scale replicas."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.cli import program
from tests.paths import EXAMPLES

from mead.config import read_pipeline
from mead.workload import Poisson, write_trace


@pytest.mark.parametrize(
    ("application", "policy", "tuples"),
    [("pattern-detection", "drs", 43 / (1 - 0.008)), ("logo-detection", "drs", 125), ("logo-detection", "pasps", 125)],
)
def test_a_pipeline_file_runs_in_virtual_time(application: str, policy: str, tuples: float, tmp_path: Path) -> None:
    path = EXAMPLES / f"{application}.yaml"
    write_trace(Poisson(rate_per_s=13.0, duration_s=150.0).generate(np.random.default_rng(1)), tmp_path / "t.parquet")
    answer = program.answer("simulate", str(path), "--trace", str(tmp_path / "t.parquet"), "--policy", policy)
    (verdict,) = answer["paths"].values()
    assert verdict["met"] or policy == "pasps", "which looks at no requirement"
    assert answer["lost"] == 0
    assert any(entry["allocation"] != answer["timeline"][0]["allocation"] for entry in answer["timeline"])
    visits = read_pipeline(path).pipeline.visits
    assert list(visits.values())[1] == pytest.approx(tuples), "traffic equations"
