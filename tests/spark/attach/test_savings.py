"""What an attached query is told at the end, without Spark: the engine is the simulator, by the wall clock."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mead.history import History
from mead.loop import Mode
from mead.monitor import PathMonitor
from mead.policies import PolicyOptions
from mead.policies.baselines.static import StaticOptions
from mead.policies.predictive.mg1 import MG1Options
from mead.reports.pages import RunFigures
from mead.session import Session
from mead.simulator import Simulation
from mead.spark.attach.attach import Attached
from mead.values import Allocation, Knowledge, Observation, Operator, Pipeline, Requirement
from mead.workload import Trace

PIPELINE = Pipeline("mine", [Operator("mine", 0.002, shares=(0.5, 1.0))], [], [Requirement("mine", bound_s=0.5)])
STARTED = "2026-01-01T12:00:00+00:00"
FASTER = 50.0
"""Seconds of the simulation in one of the wall clock."""


@dataclass
class Quick:
    """The engine of an attached query, in which time flies."""

    simulation: Simulation
    operator: Operator = PIPELINE.operators[0]
    pipeline: Pipeline = PIPELINE
    exact: bool = True
    in_python: bool = True
    paths: dict[str, PathMonitor] = field(default_factory=dict)
    allocation: Allocation = field(default_factory=lambda: PIPELINE.most)

    def observe(self, time_s: float) -> Observation:
        return self.simulation.observe(FASTER * time_s)

    def apply(self, allocation: Allocation) -> None:
        raise AssertionError(allocation)


class Query:
    """One that never ends by itself."""

    def awaitTermination(self, limit_s: float) -> bool:
        time.sleep(min(limit_s, 0.05))
        return False


def attached(mode: Mode, options: PolicyOptions, file: Path) -> Attached:
    """As `mead.attach` puts it together."""
    trace = Trace.from_iats_s(np.random.default_rng(1).exponential(0.01, 30_000))
    engine: Any = Quick(Simulation(PIPELINE, trace, 1))
    query: Any = Query()
    session = Session(PIPELINE, options, mode=mode, engine="spark", workload="attached", history=file)
    session.policy.interval_s = 0.2
    opened = ExitStack()
    opened.enter_context(session)
    return Attached(query, engine, Knowledge(PIPELINE), session, opened)


def after_some_rounds(this: Attached) -> Attached:
    until_s = time.monotonic() + 60.0
    while len(this.decisions) < 5 and time.monotonic() < until_s:
        time.sleep(0.05)
    this.detach()
    return this


def test_who_observes_is_told_what_would_have_been_saved_and_so_is_the_history(tmp_path: Path) -> None:
    file = tmp_path / "h.sqlite"
    this = after_some_rounds(attached(Mode.OBSERVE, StaticOptions(share=0.5), file))
    found = this.savings()
    assert found is not None
    assert found.in_force == pytest.approx(1.0)
    assert found.instead == pytest.approx(0.5, abs=0.1)
    (mean_s,) = found.predicted_s.values()
    assert mean_s == pytest.approx(0.005, abs=0.003)  # 4 ms of service, 40 % busy
    assert this.notes == []
    with History.read(file) as history:
        again = RunFigures.of(history, 1).savings
    assert again is not None
    assert (again.in_force, again.instead) == pytest.approx((found.in_force, found.instead))
    assert again.predicted_s == pytest.approx(found.predicted_s)


def test_who_is_advised_is_told_it_by_the_plans_and_how_far_to_believe_them(tmp_path: Path) -> None:
    this = after_some_rounds(attached(Mode.ADVISE, MG1Options(windows=(500,)), tmp_path / "h.sqlite"))
    found = this.savings()
    assert found is not None
    assert found.in_force == pytest.approx(1.0)
    assert found.instead < 1.0
    assert abs(found.model_error["mine"]) < 0.5  # Poisson arrivals are what M/G/1 is for


def test_what_cannot_be_concluded_is_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object) -> None:
        raise ValueError("no such thing")

    monkeypatch.setattr("mead.reports.what_if.savings.simulated_savings", failing)
    this = after_some_rounds(attached(Mode.OBSERVE, StaticOptions(share=0.5), tmp_path / "h.sqlite"))
    assert this.notes == ["what would have been saved is not known: no such thing"]
    assert not this.active
