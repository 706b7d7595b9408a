from __future__ import annotations

import json
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import pytest

from mead.plan.drs_model import OpenNetwork, Station
from mead.plan.drs_schedule import Goal, Situation, decide
from mead.plan.drs_search import Limits

DECISIONS = json.loads((Path(__file__).parents[1] / "vectors" / "drs.json").read_text())["decisions"]
LOADS = (0.225, 0.304, 0.0016)
SERVICES_PER_S = (1 / 0.225, 60 / 0.304, 2500.0)


def video(frames_per_s: float, processors: tuple[int, ...], measured_s: float | None, **more: Any) -> Situation:
    rates = (frames_per_s, 60 * frames_per_s, 4 * frames_per_s)
    network = OpenNetwork(frames_per_s, tuple(map(Station, rates, SERVICES_PER_S)))
    return Situation(network, processors, measured_s, **({"since_s": 1000.0} | more))


GOAL = Goal(t_max_s=1.0, t_min_s=0.45, t_ra_s=360.0)


@pytest.mark.parametrize("case", DECISIONS, ids=lambda case: str(case["id"]))
def test_decisions_are_those_of_the_vectors(case: dict[str, Any]) -> None:
    stations = tuple(map(Station, case["lambda_i"], case["mu_i"]))
    goal = Goal(case["pool"], case["Tmax"], case["Tmin"], case["Tra"], calibrated=case["adjust"])
    now = Situation(
        OpenNetwork(case["lambda0"], stations),
        tuple(case["current_k"]),
        case["measured_ET"],
        case["seconds_since_last"],
    )
    decision, expected = decide(goal, now), case["expected"]
    assert decision.action == expected["action"]
    if "k" in expected:
        assert list(decision.placement.processors) == expected["k"]
    else:
        assert decision.placement.processors == now.processors
        assert decision.reason == expected["reason"]
    assert decision.detail


def test_processors_that_are_not_needed_are_removed() -> None:
    decision = decide(GOAL, video(6.0, (6, 8, 1), measured_s=0.3))
    assert (decision.action, decision.reason) == ("scale_in", "over-provision")
    assert decision.placement.sojourn_s <= 1.0
    assert decision.placement.total < 15


def test_no_more_are_removed_than_the_model_can_spare() -> None:
    lean = decide(GOAL, video(6.0, (6, 8, 1), measured_s=0.3)).placement
    again = decide(GOAL, video(6.0, lean.processors, measured_s=0.3))
    assert (again.action, again.reason) == ("none", "optimal")


def test_a_target_out_of_reach_changes_nothing() -> None:
    decision = decide(replace(GOAL, t_max_s=0.5), video(12.0, (4, 6, 1), measured_s=0.7))
    assert (decision.action, decision.reason) == ("none", "lower_bound")
    pooled = decide(replace(GOAL, t_max_s=0.54, k_max=11), video(12.0, (4, 6, 1), measured_s=0.7))
    assert (pooled.action, pooled.reason) == ("none", "Kcap")


def test_an_operator_that_cannot_keep_up_is_a_shortage_before_anybody_waits_for_long() -> None:
    overloaded = video(18.0, (4, 6, 1), measured_s=0.6)
    decision = decide(GOAL, overloaded)
    assert (decision.action, decision.reason) == ("scale_out", "shortage")
    hopeless = decide(replace(GOAL, t_max_s=0.5, k_max=14), overloaded)  # all that there are, if no target can be met
    assert hopeless.action == "scale_out"
    assert hopeless.placement.total == 14
    assert decide(replace(GOAL, t_max_s=0.5, k_max=11), overloaded).reason == "insufficient"


def test_all_processors_are_used_for_the_shortest_time() -> None:
    goal = Goal(k_max=22, t_ra_s=840.0)
    decision = decide(goal, video(13.0, (8, 12, 2), None))
    assert (decision.action, decision.placement.processors) == ("rebalance", (10, 11, 1))
    assert decide(goal, video(13.0, (8, 12, 2), None, since_s=839.0)).reason == "T_ra"
    assert decide(goal, video(13.0, (10, 11, 1), None)).reason == "optimal"
    assert decide(goal, video(13.0, (5, 5, 1), None)).action == "scale_out"
    assert decide(goal, video(13.0, (20, 20, 1), None)).action == "scale_in"
    assert decide(Goal(k_max=5), video(13.0, (3, 4, 1), None)).reason == "insufficient"


def test_a_passive_scheduler_never_acts() -> None:
    decision = decide(Goal(k_max=22, t_ra_s=inf), video(13.0, (8, 12, 2), None, since_s=1e9))
    assert (decision.action, decision.reason) == ("none", "T_ra")
    assert "(10:11:1)" in decision.detail  # and says what it would do


def test_limits_of_operators_are_kept() -> None:
    limits = Limits((1, 1, 1), (9, 20, 20))
    decision = decide(Goal(k_max=22), video(13.0, (8, 12, 2), None, limits=limits))
    assert decision.placement.processors[0] <= 9


def test_without_a_response_time_nothing_is_decided() -> None:
    assert decide(GOAL, video(12.0, (4, 6, 1), None)).reason == "no_response"
