"""When operators are warm, by what checkpoints say; no Spark needed. How a trace warms up is in test_sources."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from mead.cpu import DryRunShares
from mead.queueing import Edge
from mead.spark.pipeline import running as running_module
from mead.spark.pipeline.query import Query
from mead.spark.pipeline.running import RunningPipeline
from mead.spark.sources.inputs import TraceInput
from mead.values import Operator, Pipeline

NAMES = ("parser", "matcher")
CHAIN = Pipeline("chain", [Operator(name, 0.001) for name in NAMES], [Edge(*NAMES)])
SPARK: Any = SimpleNamespace()
IDLE: Any = SimpleNamespace(isActive=True, status={"isTriggerActive": False})

DONE, ENOUGH = 2, 3
"""Micro-batches of each operator, and how many make it warm."""


def rested(checkpoint: Path, offset: dict[str, int]) -> Query:
    """A query that has done all that it has begun."""
    for folder, lines in (("offsets", ["v1", "{}", json.dumps(offset)]), ("commits", ["v1", "{}"])):
        (checkpoint / folder).mkdir(parents=True)
        (checkpoint / folder / str(DONE - 1)).write_text("\n".join(lines))
    return Query(IDLE, checkpoint)


@pytest.mark.parametrize(("used", "waits"), [(5, False), (4, True)], ids=["all of it", "not yet all"])
def test_a_run_does_not_wait_for_more_than_its_trace_has_to_warm_up_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, used: int, *, waits: bool
) -> None:
    monkeypatch.setattr(running_module, "WARM_BATCHES", ENOUGH)
    np.save(tmp_path / "sparse.npy", 2_000_000 * np.arange(35, dtype=np.int64))
    source = TraceInput(tmp_path / "sparse.npy", warm_up=tmp_path / "warm-up")
    running, told = RunningPipeline(SPARK, CHAIN, source, {}, tmp_path, DryRunShares(NAMES)), list[str]()
    caught_up: Any = SimpleNamespace(count_completed=lambda _: used, count_arrived=lambda _: used)
    running.inputs.update({"parser": source, "matcher": caught_up})
    offsets = {"parser": {"started_us": 0, "count": used, "warm": 0}, "matcher": {"rows": used}}
    running.queries.update({name: rested(tmp_path / name, offsets[name]) for name in NAMES})
    (tmp_path / "stamps").mkdir()
    (tmp_path / "warm-up").touch()
    running.warm_up(0.3, told.append)
    running.begin()
    assert bool(told) == waits
    assert not (tmp_path / "warm-up").exists(), "the trace takes its course"
