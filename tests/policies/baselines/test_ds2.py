from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from mead.policies import decide
from mead.policies.baselines.ds2 import DS2, DS2Options
from mead.queueing import Edge
from mead.values import Allocation, Knowledge, Observation, Operator, Pipeline, Plan, Resources

if TYPE_CHECKING:
    from tests.policies.conftest import Observer

FILTER = Pipeline("filter", [Operator("a", 0.001), Operator("b", 0.002, max_replicas=4)], [Edge("a", "b", 0.5)])
LEAST = Allocation.of(a=Resources(0.4), b=Resources(0.4))


def planned(observation: Observation, **options: float) -> Plan:
    policy, knowledge = DS2(DS2Options.model_validate({"boundary": 0.0} | options)), Knowledge(FILTER)
    return decide(policy, observation, knowledge)


def rate(per_s: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.full(1000, 1 / per_s)


def test_cores_follow_the_rate_through_the_graph(observed: Observer) -> None:
    plan = planned(observed(FILTER, iats_s=rate(400.0), allocation=LEAST))
    # 400/s of 1 ms and 200/s of 2 ms at utilization 0.7: 0.571 cores each
    assert plan.target == Allocation.of(a=Resources(0.7), b=Resources(0.7))
    assert "a gets 400/s, and can serve 400/s" in str(plan.reason)


def test_a_backlog_is_worked_off_within_the_catch_up_time(observed: Observer) -> None:
    observation = observed(FILTER, iats_s=rate(400.0), allocation=LEAST, backlog=12_000)
    slow, quick = planned(observation, catch_up_s=600.0), planned(observation, catch_up_s=60.0)
    # a: 0.571 + 12000 * 1 ms / 600 s; b gets half of a's backlog as well: 0.571 + 18000 * 2 ms / 600 s
    assert slow.target == Allocation.of(a=Resources(0.7), b=Resources(0.7))
    # a: 0.571 + 0.2; b: 0.571 + 0.6 = 1.17 cores, for which three replicas of 0.4 are the cheapest
    assert quick.target == Allocation.of(a=Resources(0.85), b=Resources(0.4, 3))


def test_within_the_boundaries_nothing_changes(observed: Observer) -> None:
    observation = observed(FILTER, iats_s=rate(300.0), allocation=LEAST)  # utilization 0.75
    assert planned(observation, boundary=0.3).allocation == LEAST
    assert planned(observation, boundary=0.0).allocation != LEAST


@pytest.mark.parametrize("per_s", [2000.0, 20_000.0])
def test_more_than_can_be_had_is_not_asked_for(observed: Observer, per_s: float) -> None:
    plan = planned(observed(FILTER, iats_s=rate(per_s), allocation=LEAST))
    assert plan.allocation["a"] == FILTER.operator("a").most
    assert plan.allocation["b"].replicas <= 4
