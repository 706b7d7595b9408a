"""A policy in one new file is found everywhere: help, reference page, arena, runs, history."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from experiments.arena.contest import contenders
from tests.cli.program import answer, run
from tests.paths import ROOT

import mead.policies
from mead.config.reference import tables
from mead.policies import make_policy, options_class, policies, policy_names
from mead.testing.conformance import check_policy

LOG_ANALYSIS = ROOT / "examples/log-analysis.yaml"
THRIFTY = '''
"""Give every operator its lowest level that keeps up with the arrivals."""

from typing import ClassVar, Literal

from pydantic import Field

from mead.policies import NotReady, PolicyOptions, not_ready, register
from mead.policies.rules import within_limits
from mead.values import Allocation, Cause, Note, Plan, Resources


class ThriftyOptions(PolicyOptions):
    """The lowest level that keeps up."""

    name: Literal["thrifty"] = "thrifty"
    interval_s: float = Field(default=10.0, gt=0, description="time between two decisions, s")
    spare: float = Field(default=0.2, ge=0, description="part of the arrivals to have in reserve")

    plans_for_requirements: ClassVar[bool] = False


@register(ThriftyOptions)
class Thrifty:
    def __init__(self, options):
        self.name, self.interval_s, self.spare = options.name, options.interval_s, options.spare

    def analyze(self, observation, knowledge):
        if unready := not_ready(observation, knowledge.pipeline):
            return unready
        return {name: one.arrived / observation.interval_s for name, one in observation.operators.items()}

    def plan(self, observation, analysis, knowledge):
        cores = {o.name: (1 + self.spare) * analysis[o.name] * o.demand_s for o in knowledge.pipeline.operators}
        target = Allocation.of(
            {o.name: within_limits(Resources(cores[o.name]), o) for o in knowledge.pipeline.operators}
        )
        needs = (Note(f"{name} needs {one:.2f} cores") for name, one in cores.items())
        return Plan.move(observation.allocation, target, *needs)
'''


@pytest.fixture
def thrifty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file in the package of the policies, for one test."""
    (tmp_path / "thrifty.py").write_text(THRIFTY)
    monkeypatch.setattr("mead.policies.registry._OPTIONS", dict(policies()))
    monkeypatch.setattr(mead.policies, "__path__", [*mead.policies.__path__, str(tmp_path)])
    monkeypatch.delitem(sys.modules, "mead.policies.thrifty", raising=False)


@pytest.mark.usefixtures("thrifty")
def test_a_policy_in_one_file_is_found_everywhere(tmp_path: Path) -> None:
    assert "thrifty" in policy_names()
    for command in ("run", "simulate", "plan"):
        words = " ".join(run(command, "--help").stdout.replace("│", " ").split())
        assert "static, threshold, thrifty, module:Class" in words
        assert "part of the arrivals to have in reserve" in words
    assert "#### thrifty\n\nThe lowest level that keeps up." in tables()
    assert "thrifty" in contenders()

    trace, history = tmp_path / "arrivals.npy", tmp_path / "history.sqlite"
    np.save(trace, np.cumsum(np.random.default_rng(1).exponential(1 / 330, 20_000)))
    options = ("--policy", "thrifty", "--option", "spare=0.5", "--history", history)
    done = answer("simulate", LOG_ANALYSIS, "--trace", trace, *options)
    assert done["policy"] == "thrifty"
    assert "matcher needs" in done["timeline"][-1]["reason"]
    assert any(entry["policy"] == "thrifty" for entry in answer("history", history)["runs"])


@pytest.mark.usefixtures("thrifty")
def test_it_conforms() -> None:
    assert check_policy(lambda: make_policy(options_class("thrifty")(name="thrifty")))
