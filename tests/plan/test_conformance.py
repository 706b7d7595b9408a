"""What every registered policy has to keep to, whatever it decides."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from pydantic import TypeAdapter

from mead.config.policies import PolicyOptions
from mead.evaluate.experiment import Run, run
from mead.knowledge.allocation import Allocation, Resources
from mead.knowledge.knowledge import Knowledge
from mead.knowledge.observation import Observation, OperatorReading
from mead.knowledge.pipeline import Pipeline
from mead.knowledge.plan import Plan
from mead.models.arrays import FloatArray
from mead.monitor.plausible import implausible
from mead.plan.policy import Policy
from mead.plan.registry import POLICIES, policy
from mead.workload.trace import Trace

if TYPE_CHECKING:
    from tests.plan.conftest import Describer, Observer

EVERY = pytest.mark.parametrize("name", POLICIES)
USES_ARRIVALS = pytest.mark.parametrize("name", ["mg1", "kingman", "map", "replay"])
UNBOUND = {"static", "adaptive", "hybrid", "drs", "pasps", "psps", "dabs"}
"""They lower as far as they see fit: one rule for both directions, or Algorithm 2 of PA-SPS."""
MIDDLE = Allocation.of(parser=Resources(0.7), counter=Resources(0.7), matcher=Resources(0.7))
NOTHING = OperatorReading(arrived=0, completed=0, backlog=0, busy_s=0.0)
NAMES = ("parser", "counter", "matcher")


def made(name: str, **changes: Any) -> Policy[Any]:
    options: PolicyOptions = TypeAdapter(PolicyOptions).validate_python({"name": name, **changes})
    return policy(options)


def planned(chosen: Policy[Any], observation: Observation, pipeline: Pipeline) -> Plan:
    """What becomes of readings that the loop has looked through."""
    knowledge = Knowledge(pipeline)
    fault = observation.missing or implausible(observation, pipeline, after_s=0.0)
    observation = replace(observation, missing=fault)
    return chosen.plan(observation, chosen.analyze(observation, knowledge), knowledge)


def reading(**changes: Any) -> OperatorReading:
    return OperatorReading(**({"arrived": 100, "completed": 100, "backlog": 0, "busy_s": 1.0} | changes))


BROKEN: dict[str, dict[str, Any]] = {
    "said to be missing": {"missing": "the listener has sent nothing for 30 s"},
    "without operators": {"operators": {}},
    "without the matcher": {"operators": {"parser": reading(), "counter": reading()}},
    "all zero": {"operators": dict.fromkeys(NAMES, NOTHING)},
    "negative counts": {"operators": dict.fromkeys(NAMES, reading(completed=-5))},
    "negative CPU time": {"operators": dict.fromkeys(NAMES, reading(busy_s=-1.0))},
    "CPU time that is no number": {"operators": dict.fromkeys(NAMES, reading(busy_s=float("nan")))},
    "endless CPU time": {"operators": dict.fromkeys(NAMES, reading(busy_s=float("inf")))},
    "no time passed": {"interval_s": 0.0},
    "time ran backwards": {"interval_s": -60.0},
    "time is no number": {"interval_s": float("nan")},
    "no allocation of the matcher": {"allocation": Allocation.of(parser=Resources(0.7), counter=Resources(0.7))},
    "an allocation of nothing": {"allocation": Allocation.of(dict.fromkeys(NAMES, Resources(0.0)))},
    "nothing at all": {
        "operators": dict.fromkeys(NAMES, NOTHING),
        "paths": {},
        "iats_s": np.empty(0),
        "counts": np.empty(0),
    },
}


@EVERY
@pytest.mark.parametrize("kind", BROKEN)
def test_broken_readings_change_nothing(
    name: str, kind: str, log_analysis: Describer, observed: Observer, bursty: FloatArray
) -> None:
    pipeline = log_analysis()
    readings = {"iats_s": bursty, "allocation": MIDDLE} | BROKEN[kind]
    plan = planned(made(name), observed(pipeline, **readings), pipeline)
    assert plan.allocation == readings["allocation"]
    assert plan.reason.startswith("keep, because ")


@USES_ARRIVALS
@pytest.mark.parametrize(
    "iats_s",
    [np.empty(0), np.zeros(1000), np.full(1000, np.nan), np.full(1000, -1.0), np.full(1000, np.inf), np.full(3, 0.01)],
    ids=["none", "all zero", "no numbers", "negative", "endless", "three"],
)
def test_arrivals_that_say_nothing_change_nothing(
    name: str, iats_s: FloatArray, log_analysis: Describer, observed: Observer
) -> None:
    pipeline = log_analysis()
    observation = replace(observed(pipeline, allocation=MIDDLE), iats_s=iats_s)
    plan = planned(made(name), observation, pipeline)
    assert plan.allocation == MIDDLE
    assert "IATs" in plan.reason


@EVERY
def test_the_same_observations_lead_to_the_same_plans(
    name: str, log_analysis: Describer, observed: Observer, bursty: FloatArray
) -> None:
    pipeline = log_analysis()

    def decisions() -> list[Plan]:
        chosen = made(name)
        return [
            planned(chosen, observed(pipeline, iats_s=bursty[:end], time_s=time_s, allocation=MIDDLE), pipeline)
            for end, time_s in ((6_000, 60.0), (12_000, 120.0))
        ]

    assert decisions() == decisions()


@pytest.fixture(scope="module")
def runs(bursty: FloatArray, log_analysis: Describer) -> dict[str, Run]:
    """Every policy in control of a pipeline for half a minute of bursts, from the highest levels on."""
    pipeline, trace = log_analysis(max_replicas=2), Trace.from_iats_s(bursty)
    return {name: run(pipeline, trace, made(name, interval_s=5.0), seed=1) for name in POLICIES}


@EVERY
def test_plans_are_within_bounds_and_have_reasons(name: str, runs: dict[str, Run]) -> None:
    this = runs[name]
    assert this.rounds
    for turn in this.rounds:
        assert turn.error == ""
        assert turn.plan is not None
        assert turn.plan.reason
        assert set(turn.plan.predicted) <= set(this.pipeline.paths)
        for allocation in (turn.plan.allocation, turn.plan.target):
            assert list(allocation) == [operator.name for operator in this.pipeline.operators]
            for operator in this.pipeline.operators:
                assert allocation[operator.name].share in operator.shares
                assert operator.min_replicas <= allocation[operator.name].replicas <= operator.max_replicas


@pytest.mark.parametrize("name", [name for name in POLICIES if name not in UNBOUND])
def test_nothing_falls_by_more_than_one_level_per_round(name: str, runs: dict[str, Run]) -> None:
    this = runs[name]
    for turn in this.rounds:
        assert turn.plan is not None
        assert turn.observation is not None
        for operator in this.pipeline.operators:
            now, then = turn.observation.allocation[operator.name], turn.plan.allocation[operator.name]
            assert operator.shares.index(then.share) >= operator.shares.index(now.share) - 1
            assert then.replicas >= now.replicas - 1


@EVERY
def test_nothing_is_lost_under_its_control(name: str, runs: dict[str, Run]) -> None:
    counters = runs[name].simulation.counters
    assert counters.inside == 0
    assert counters.arrived > 10_000


@EVERY
def test_every_policy_says_who_it_is(name: str) -> None:
    chosen = made(name)
    assert chosen.name == name
    assert chosen.interval_s > 0
