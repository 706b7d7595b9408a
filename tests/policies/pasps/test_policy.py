"""PA-SPS and its peers: the equations on readings, and what the reasons say."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mead.policies import decide
from mead.policies.pasps.dabs import Dabs, DabsOptions
from mead.policies.pasps.policy import Outlook, PaSps, PaSpsOptions, PspsOptions
from mead.policies.reasons import Restarting
from mead.queueing import CycleError, Edge
from mead.values import Allocation, Cause, Knowledge, Observation, Operator, OperatorReading, Pipeline, Plan, Resources

POOL: dict[str, Any] = {"shares": (1.0,), "max_replicas": 8}
CHAIN = Pipeline(
    "chain",
    [Operator("a", 0.002, **POOL), Operator("b", 0.008, **POOL), Operator("c", 0.006, **POOL)],
    [Edge("a", "b"), Edge("b", "c")],
)
DIAMOND = Pipeline(
    "diamond",
    [Operator(name, 0.01, **POOL) for name in ("split", "left", "right", "join")],
    [Edge("split", "left", 0.5), Edge("split", "right", 0.5), Edge("left", "join"), Edge("right", "join")],
)


def observed(
    pipeline: Pipeline, rate: float, *, time_s: float = 30.0, backlog: dict[str, int] | None = None, **arrived: int
) -> Observation:
    """An interval of 30 s of steady arrivals; every operator served what came, unless ``backlog`` says otherwise."""
    waiting = backlog or {}
    readings = {}
    for o in pipeline.operators:
        came = arrived.get(o.name, round(30 * rate * pipeline.visits[o.name]))
        left = waiting.get(o.name, 0)
        readings[o.name] = OperatorReading(came, came, left, came * o.demand_s)
    counts = np.full(300, rate / 10)
    return Observation(time_s, 30.0, pipeline.most, readings, {}, np.empty(0), counts)


def planned(policy: PaSps, observation: Observation, pipeline: Pipeline) -> Plan:
    knowledge = Knowledge(pipeline)
    return decide(policy, observation, knowledge)


def replicas(plan: Plan) -> list[int]:
    return [resources.replicas for resources in plan.target.values()]


@pytest.mark.parametrize("predictor", ["basic", "lr", "fft", "rf", "ewma", "ar", "auto"])
def test_steady_arrivals_are_given_what_equation_2_says(predictor: str) -> None:
    policy = PaSps(PaSpsOptions.model_validate({"predictor": predictor}))
    plan = planned(policy, observed(CHAIN, 800.0, backlog={"b": 900}), CHAIN)
    # P05 of the vectors: 24,000 tuples, 900 queued at the second operator
    assert replicas(plan) == [2, 7, 5]


def test_the_reason_has_the_forecast_the_queues_and_the_replicas() -> None:
    plan = planned(PaSps(PspsOptions()), observed(CHAIN, 800.0, backlog={"b": 900}), CHAIN)
    assert str(plan.reason).startswith(
        "Lower a from 8 to 2 replicas and b from 8 to 7 replicas and c from 8 to 5 replicas: basic forecasts 24000"
    )
    assert "b needs 6.64 of 8 replicas for 24000 tuples and 900 queued" in str(plan.reason)


def test_no_more_than_the_pool_has_and_no_less_than_one() -> None:
    assert replicas(planned(PaSps(PspsOptions()), observed(CHAIN, 2000.0), CHAIN)) == [4, 8, 8]
    assert replicas(planned(PaSps(PspsOptions()), observed(CHAIN, 1.0), CHAIN)) == [1, 1, 1]


def test_a_fall_that_ends_below_zero_is_taken_for_silence() -> None:
    observation = observed(CHAIN, 100.0, backlog={"a": 3000})
    falling = replace(observation, counts=np.repeat([6.0, 5.0, 4.0, 3.0, 2.0, 0.5], 50))
    outlook = PaSps(PaSpsOptions(predictor="lr")).analyze(falling, Knowledge(CHAIN))
    assert isinstance(outlook, Outlook)
    assert outlook.forecast == 0.0
    assert outlook.loads["c"].queued == 3000


def test_what_operators_send_is_measured_not_declared() -> None:
    observation = observed(DIAMOND, 100.0, left=2400, right=600, join=3000)
    outlook = PaSps(PspsOptions()).analyze(observation, Knowledge(DIAMOND))
    assert isinstance(outlook, Outlook)
    assert [outlook.loads[name].share for name in ("left", "right", "join")] == pytest.approx([0.8, 0.2, 1.0])


def test_a_silent_operator_keeps_its_last_ratios() -> None:
    policy, knowledge = PaSps(PspsOptions()), Knowledge(DIAMOND)
    policy.analyze(observed(DIAMOND, 100.0, left=2400, right=600, join=3000), knowledge)
    silent = observed(DIAMOND, 100.0, time_s=60.0, split=0, left=0, right=0, join=0, backlog={"split": 1000})
    outlook = policy.analyze(silent, knowledge)
    assert isinstance(outlook, Outlook)
    assert outlook.loads["left"].queued == pytest.approx(800.0)
    assert outlook.loads["join"].queued == pytest.approx(1000.0)


def test_forecasts_are_made_from_new_samples_only() -> None:
    policy, knowledge = PaSps(PaSpsOptions(predictor="ewma")), Knowledge(CHAIN)
    known = np.full(300, 10.0)
    policy.analyze(replace(observed(CHAIN, 100.0), counts=known), knowledge)
    longer = replace(observed(CHAIN, 200.0, time_s=60.0), counts=np.concatenate([known, np.full(300, 20.0)]))
    outlook = policy.analyze(longer, knowledge)
    weights = (1 - 2 / 7) ** np.arange(12)[::-1]
    expected = 6 * float(np.average([500.0] * 6 + [1000.0] * 6, weights=weights))
    assert isinstance(outlook, Outlook)
    assert outlook.forecast == pytest.approx(expected)


def test_a_loop_is_an_error_with_a_name() -> None:
    loop = Pipeline("loop", [Operator("a", 0.01), Operator("b", 0.01)], [Edge("a", "b"), Edge("b", "a", 0.3)])
    with pytest.raises(CycleError, match="cannot follow the loop of loop from b to a"):
        PaSps(PaSpsOptions()).analyze(observed(loop, 10.0), Knowledge(loop))


def test_a_restart_is_waited_for_and_not_followed_by_less() -> None:
    policy = Dabs(DabsOptions(downtime_s=40.0, hold_down_s=120.0))
    low = Allocation.of(dict.fromkeys("abc", Resources(1.0)))
    up = planned(policy, replace(observed(CHAIN, 800.0), allocation=low), CHAIN)
    assert replicas(up) == [2, 7, 5]
    during = planned(policy, replace(observed(CHAIN, 1600.0, time_s=60.0), allocation=up.allocation), CHAIN)
    assert (during.reason.cause, during.reason.facts) == (Cause.UNDER_WAY, (Restarting(70.0),))
    less = planned(policy, replace(observed(CHAIN, 100.0, time_s=90.0), allocation=up.allocation), CHAIN)
    assert less.allocation == up.allocation
    assert less.reason.cause is Cause.RULES


def test_an_interval_holds_whole_samples() -> None:
    with pytest.raises(ValueError, match="must be a multiple of sample_s, 5; got 12"):
        PaSpsOptions(interval_s=12.0)
