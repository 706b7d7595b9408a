"""Queries that fail are told of while the run goes on; no Spark needed."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mead.cli.runs.display import Display
from mead.cpu import DryRunShares
from mead.policies.baselines.static import StaticOptions
from mead.queueing import Edge
from mead.session import Session
from mead.spark.pipeline.query import Query
from mead.spark.pipeline.running import RunningPipeline
from mead.spark.sources.inputs import TraceInput
from mead.values import Operator, Pipeline

PIPELINE = Pipeline("one", [Operator("matcher", 0.001)])
SPARK: Any = SimpleNamespace()
REASON = "matcher failed and is started again: ValueError: no [pattern] is known"


def down(reason: str) -> Any:
    """A query of Spark that has failed."""
    return SimpleNamespace(isActive=False, exception=lambda: ValueError(f"Traceback\nValueError: {reason}"))


def test_whoever_watches_hears_at_once_what_failed_and_why_and_of_the_same_only_once(tmp_path: Path) -> None:
    heard: list[str] = []
    source = TraceInput(tmp_path / "trace.npy")
    running = RunningPipeline(SPARK, PIPELINE, source, {}, tmp_path, DryRunShares(["matcher"]), on_restart=heard.append)
    query = running.queries["matcher"] = Query(down("no [pattern] is known"), tmp_path)
    assert running.revive() == "matcher is down and will be started again"
    running.revive()
    assert heard == [REASON], "it is down only once"
    query.waits_until_s = None
    running.revive()
    assert heard == [REASON], "for the same reason"
    query.running, query.waits_until_s = down("no server"), None
    running.revive()
    assert heard == [REASON, "matcher failed and is started again: ValueError: no server"]
    assert list(running.restarts) == [REASON, REASON, heard[-1]]


def test_the_reason_of_a_failure_is_that_of_its_own_query(tmp_path: Path) -> None:
    """Also if the name of another query begins with the same word."""
    source, names = TraceInput(tmp_path / "trace.npy"), ("matcher", "matcher of names")
    pipeline = Pipeline("two", [Operator(name, 0.001) for name in names], [Edge(*names)])
    running = RunningPipeline(SPARK, pipeline, source, {}, tmp_path, DryRunShares(names))
    for name, reason in zip(names, ("no server", "no names"), strict=True):
        running.queries[name] = Query(down(reason), tmp_path / name)
    running.revive()
    assert running.failing == "matcher"
    assert [query.failed_because for query in running.queries.values()] == [
        "ValueError: no server",
        "ValueError: no names",
    ]
    (tmp_path / "matcher" / "commits").mkdir(parents=True)
    (tmp_path / "matcher" / "commits" / "0").touch()  # it has finished a micro-batch since
    assert running.failing == "matcher of names"


@pytest.mark.parametrize("quiet", [False, True])
def test_what_failed_is_a_line_on_standard_error(capsys: pytest.CaptureFixture[str], *, quiet: bool) -> None:
    display = Display(quiet=quiet)
    with display.following(Session(PIPELINE, StaticOptions())):
        display.warn(REASON)
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "" if quiet else f"{REASON}\n")
