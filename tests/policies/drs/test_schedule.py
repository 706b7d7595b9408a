from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import Any

import pytest
from tests.paths import vectors

from mead.policies.drs.facts import Cost, Placed, Postponed, Reachable, Sojourn
from mead.policies.drs.model import OpenNetwork, Station
from mead.policies.drs.schedule import Goal, Scheduling, Situation, decide
from mead.policies.drs.search import Limits
from mead.policies.reasons import Remark
from mead.values import Batches

DECISIONS = vectors("drs.json")["decisions"]
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
        assert decision.case == expected["reason"]
    assert decision.facts


def test_processors_that_are_not_needed_are_removed() -> None:
    decision = decide(GOAL, video(6.0, (6, 8, 1), measured_s=0.3))
    assert (decision.action, decision.case) == ("scale_in", "over-provision")
    assert decision.placement.sojourn_s <= 1.0
    assert decision.placement.total < 15


def test_no_more_are_removed_than_the_model_can_spare() -> None:
    lean = decide(GOAL, video(6.0, (6, 8, 1), measured_s=0.3)).placement
    again = decide(GOAL, video(6.0, lean.processors, measured_s=0.3))
    assert (again.action, again.case) == ("none", "optimal")


def test_a_target_out_of_reach_changes_nothing() -> None:
    decision = decide(replace(GOAL, t_max_s=0.5), video(12.0, (4, 6, 1), measured_s=0.7))
    assert (decision.action, decision.case) == ("none", "lower_bound")
    pooled = decide(replace(GOAL, t_max_s=0.54, k_max=11), video(12.0, (4, 6, 1), measured_s=0.7))
    assert (pooled.action, pooled.case) == ("none", "Kcap")


def test_an_operator_that_cannot_keep_up_is_a_shortage_before_anybody_waits_for_long() -> None:
    overloaded = video(18.0, (4, 6, 1), measured_s=0.6)
    decision = decide(GOAL, overloaded)
    assert (decision.action, decision.case) == ("scale_out", "shortage")
    hopeless = decide(replace(GOAL, t_max_s=0.5, k_max=14), overloaded)  # all that there are, if no target can be met
    assert hopeless.action == "scale_out"
    assert hopeless.placement.total == 14
    assert decide(replace(GOAL, t_max_s=0.5, k_max=11), overloaded).case == "insufficient"


def test_all_processors_are_used_for_the_shortest_time() -> None:
    goal = Goal(k_max=22, t_ra_s=840.0)
    decision = decide(goal, video(13.0, (8, 12, 2), None))
    assert (decision.action, decision.placement.processors) == ("rebalance", (10, 11, 1))
    assert decide(goal, video(13.0, (8, 12, 2), None, since_s=839.0)).case == "T_ra"
    assert decide(goal, video(13.0, (10, 11, 1), None)).case == "optimal"
    assert decide(goal, video(13.0, (5, 5, 1), None)).action == "scale_out"
    assert decide(goal, video(13.0, (20, 20, 1), None)).action == "scale_in"
    assert decide(Goal(k_max=5), video(13.0, (3, 4, 1), None)).case == "insufficient"


def test_a_passive_scheduler_never_acts() -> None:
    decision = decide(Goal(k_max=22, t_ra_s=inf), video(13.0, (8, 12, 2), None, since_s=1e9))
    assert (decision.action, decision.case) == ("none", "T_ra")
    assert isinstance(waiting := decision.facts[-1], Postponed)
    assert waiting.processors == (10, 11, 1)


def test_limits_of_operators_are_kept() -> None:
    limits = Limits((1, 1, 1), (9, 20, 20))
    decision = decide(Goal(k_max=22), video(13.0, (8, 12, 2), None, limits=limits))
    assert decision.placement.processors[0] <= 9


def test_without_a_response_time_nothing_is_decided() -> None:
    assert decide(GOAL, video(12.0, (4, 6, 1), None)).case == "no_response"


def test_an_overload_beyond_the_pool_gets_the_whole_pool() -> None:
    network = OpenNetwork(9.0, (Station(9.0, 2.0), Station(9.0, 90.0)))  # loads of 4.5 and 0.1
    limits = Limits((1, 1), (4, 4))
    now = Situation(network, (1, 1), 30.0, 1000.0, limits)
    decision = decide(GOAL, now)
    assert (decision.action, decision.case) == ("scale_out", "shortage")
    assert decision.placement.processors == (4, 4)
    assert "5 processors are needed" in str(decision.facts[-2])
    assert decision.facts[-1] == Placed((4, 4))
    pooled = decide(replace(GOAL, k_max=5), now)
    assert (pooled.action, pooled.placement.processors) == ("scale_out", (4, 1))  # each to who has most to do
    assert decide(GOAL, replace(now, processors=(4, 4))).case == "insufficient"
    assert decide(replace(GOAL, k_max=2), now).case == "insufficient"


def test_k_max_too_few_are_used_all_if_they_are_more_than_now() -> None:
    decision = decide(Goal(k_max=6), video(13.0, (2, 2, 1), None))
    assert (decision.action, decision.placement.processors) == ("scale_out", (2, 3, 1))
    assert decision.placement.sojourn_s == inf


def test_a_backlog_that_makes_the_calibrated_target_unreachable_still_gets_more() -> None:
    goal = replace(GOAL, calibrated=True)
    limits = Limits((1, 1, 1), (8, 8, 2))
    backlog = video(12.0, (4, 6, 1), measured_s=60.0, limits=limits)
    decision = decide(goal, backlog)  # T_max itself is kept by what there is: one more
    assert (decision.action, decision.case, decision.placement.total) == ("scale_out", "shortage", 12)
    assert Reachable(1.0) in decision.facts
    lean = video(12.0, (3, 4, 1), measured_s=60.0, limits=limits)
    assert decide(goal, lean).placement == decide(GOAL, lean).placement  # what T_max needs
    full = decide(goal, video(12.0, (8, 8, 2), measured_s=60.0, limits=limits))
    assert (full.action, full.case) == ("none", "lower_bound")
    assert decide(replace(goal, k_max=11), backlog).action == "none"
    hopeless = decide(replace(goal, t_max_s=0.5), backlog)  # with and without the ratio
    assert (hopeless.action, hopeless.case) == ("none", "lower_bound")


def test_an_overload_is_seen_before_anything_has_left() -> None:
    decision = decide(GOAL, video(18.0, (4, 6, 1), None))
    assert (decision.action, decision.case) == ("scale_out", "shortage")
    assert isinstance(seen := decision.facts[0], Sojourn)
    assert seen.measured_s is None


def in_batches(processors: tuple[int, ...], measured_s: float, **more: Any) -> Situation:
    """One operator, 300 tuples a second of 2 ms: in micro-batches, one every 0.2 s, that cost 0.05 s each.

    Processors leave 0.15 s for gate and overhead, whatever their number, and shorten 0.6 x 0.2 s of work.
    """
    network = OpenNetwork(300.0, (Station(300.0, 500.0, batches=Batches(0.05, 0.2)),))
    gates_s = network.stations[0].gate_s
    return Situation(network, processors, measured_s, 1000.0, Limits((1,), (8,)), gates_s, **more)


def test_a_target_below_what_micro_batches_take_adds_nothing_and_says_so() -> None:
    decision = decide(replace(GOAL, t_max_s=0.14, t_min_s=0.0, calibrated=True), in_batches((1,), 0.3))
    assert (decision.action, decision.case) == ("none", "lower_bound")
    assert "micro-batches on the way take 0.15 s with any number of replicas" in str(decision.facts[-1])


def test_what_micro_batches_take_is_no_error_of_the_model() -> None:
    """Measured as modelled, 0.27 s: without the gates the ratio would be two, and more processors than needed added."""
    goal = replace(GOAL, t_max_s=0.25, t_min_s=0.0, calibrated=True)
    now = in_batches((1,), 0.273)
    assert now.model_s + now.gates_s == pytest.approx(0.273, abs=0.002)
    decision = decide(goal, now)
    assert isinstance(seen := decision.facts[0], Sojourn)
    assert seen.ratio == pytest.approx(1.0, abs=0.02)
    assert (decision.action, decision.placement.processors) == ("scale_out", (2,))
    assert decision.placement.sojourn_s + now.gates_s < 0.25


def test_processors_are_added_one_by_one_only_while_somebody_waits_for_them() -> None:
    """Something else takes 2 s, such as a busy machine. No number of processors makes up for it."""
    goal = replace(GOAL, t_max_s=0.4, t_min_s=0.0, calibrated=True)
    idle = decide(goal, in_batches((2,), 2.0, backlogged=False))
    assert (idle.action, idle.case) == ("none", "Kcap")
    assert Remark.NO_BACKLOG in idle.facts
    waiting = decide(goal, in_batches((2,), 2.0, backlogged=True))
    assert (waiting.action, waiting.placement.processors) == ("scale_out", (3,))


COSTLY = replace(GOAL, downtime_s=3.0)


def cost_of(decision: Scheduling) -> Cost:
    (found,) = (fact for fact in decision.facts if isinstance(fact, Cost))
    return found


def test_processors_are_not_moved_for_less_than_the_move_costs() -> None:
    now = video(6.0, (3, 5, 1), measured_s=0.6)
    free = decide(GOAL, now)
    assert free.action == "rebalance"
    decision = decide(COSTLY, now)
    assert (decision.action, decision.case) == ("none", "cost")
    assert decision.placement.processors == now.processors
    cost = cost_of(decision)
    assert cost.gain_s == pytest.approx(now.model_s - free.placement.sojourn_s)
    busiest = max(station.load / k for station, k in zip(now.network.stations, free.placement.processors, strict=True))
    assert cost.cost_s == pytest.approx(6.0 * 3.0**2 / (2 * (1 - busiest)) / (6.0 * 1000.0)), "waiting over inputs"
    assert "a standstill of 3 s adds" in str(cost)


def test_a_gain_that_lasts_long_enough_is_worth_the_cost() -> None:
    now = video(6.0, (3, 5, 1), measured_s=0.6)
    cost = cost_of(decide(COSTLY, now))
    enough_s = 1000.0 * cost.cost_s / cost.gain_s
    assert decide(COSTLY, replace(now, since_s=0.99 * enough_s)).case == "cost"
    assert decide(COSTLY, replace(now, since_s=1.01 * enough_s)).action == "rebalance"


def test_processors_are_removed_only_if_the_target_is_kept_through_the_move() -> None:
    now = video(6.0, (6, 8, 1), measured_s=0.3)
    assert decide(COSTLY, now).action == "scale_in"
    decision = decide(replace(GOAL, downtime_s=30.0), now)
    assert (decision.action, decision.case) == ("none", "cost")
    cost = cost_of(decision)
    assert cost.cost_s > cost.gain_s


def test_an_operator_that_cannot_keep_up_is_answered_at_any_cost() -> None:
    decision = decide(replace(GOAL, downtime_s=120.0), video(18.0, (4, 6, 1), measured_s=0.6))
    assert decision.action == "scale_out"


def test_gains_count_as_far_as_they_can_be_measured() -> None:
    """With flat maps eq. 4 adds up the times of tuples that are served at the same time."""
    seen = cost_of(decide(COSTLY, video(6.0, (3, 5, 1), measured_s=0.6)))
    half = video(6.0, (3, 5, 1), measured_s=0.5 * video(6.0, (3, 5, 1), None).model_s)
    goal = replace(COSTLY, t_min_s=0.1)
    assert cost_of(decide(goal, half)).gain_s == pytest.approx(seen.gain_s / 2)
