"""The report of a run is about that run, whatever else is in its folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.reports.live_results import live_result

from mead.history import IN_FOLDER, History
from mead.reports.runs import LiveReport
from mead.spark.pipeline.file_run import FolderReport
from mead.values import Operator, Pipeline, Round

ONE = Pipeline("one", [Operator("parser", 0.001)])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With the run that is to be reported, and one that has begun after its end."""
    with History.open(tmp_path / IN_FOLDER) as history:
        for policy in ("static", "adaptive"):
            history.begin("one", ONE, policy=policy, started="2026-01-01T12:00:00Z")(Round(1.0, in_force=ONE.most))
    return tmp_path


def test_a_report_is_about_its_own_run_and_not_about_the_next_one(folder: Path) -> None:
    result = live_result(ONE, 60.0, {"parser": [(1.0, 0.5)]}, number=1)
    report = FolderReport.write(LiveReport.of(result), folder)
    assert report.page == folder / "report.html"
    assert "<title>one under static</title>" in report.page.read_text()


def test_a_page_that_cannot_be_written_is_named_and_the_result_stays(folder: Path) -> None:
    (folder / "report.html").mkdir()  # no file can take its place
    said = list[str]()
    run = LiveReport.of(live_result(ONE, 60.0, {"parser": [(1.0, 0.5)]}, number=1, overheads_s={"parser": 0.1}))
    report = FolderReport.write(run, folder, warn=said.append)
    assert said == [f"There is no report: {folder}/report.html: cannot be written (Is a directory)"]
    assert report.as_json()["report"] is None
    assert report.as_json()["tuples"] == 1
