from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from mead.config import choose_policy
from mead.keys import ConfigError
from mead.loop import Mode
from mead.policies.base import Restart
from mead.policies.baselines.static import StaticOptions
from mead.policies.drs.facts import Scheduled
from mead.policies.drs.model import OpenNetwork, Station
from mead.policies.drs.policy import DRS, DRSOptions
from mead.queueing import Edge
from mead.simulator import Conditions, SimulatedRun, Simulation, run
from mead.values import Allocation, Batches, Operator, Pipeline, Requirement, Resources
from mead.workload import Steps

if TYPE_CHECKING:
    from collections.abc import Sequence

CHAIN = Pipeline(
    "chain",
    [
        Operator("first", 0.1, scv=1.0, shares=(0.5, 1.0), max_replicas=12),
        Operator("second", 0.2, scv=1.0, shares=(1.0,), max_replicas=12),
    ],
    [Edge("first", "second")],
    [Requirement("first>second", bound_s=0.5)],
)
LOOP = Pipeline(
    "loop",
    [Operator(name, 0.1, scv=1.0, shares=(1.0,), max_replicas=12) for name in ("first", "second")],
    [Edge("first", "second"), Edge("second", "second", 0.5)],
)


def controlled(
    rates_per_s: Sequence[float],
    start: tuple[int, int],
    pipeline: Pipeline = CHAIN,
    mode: Mode = Mode.ACT,
    **options: Any,
) -> SimulatedRun:
    """One rate per minute."""
    trace = Steps(rates_per_s=tuple(rates_per_s), step_s=60.0).generate(np.random.default_rng(2))
    held = Allocation.of({o.name: Resources(1.0, k) for o, k in zip(pipeline.operators, start, strict=True)})
    chosen = DRS(DRSOptions(**({"interval_s": 30.0, "t_ra_s": 60.0, "window": 2} | options)))
    return run(pipeline, trace, chosen, seed=2, start=held, mode=mode)


def reached(done: SimulatedRun) -> list[tuple[int, ...]]:
    return [tuple(r.replicas for r in allocation.values()) for allocation in done.simulation.timeline.allocations]


def reasons(done: SimulatedRun) -> list[str]:
    return [str(this.plan.reason) for this in done.rounds if this.plan is not None]


def scheduled(done: SimulatedRun) -> list[Scheduled]:
    """The case of every round in which there was one."""
    facts = [fact for this in done.rounds if this.plan is not None for fact in this.plan.reason.facts]
    return [fact for fact in facts if isinstance(fact, Scheduled)]


def test_processors_move_to_where_they_shorten_most() -> None:
    done = controlled([10.0] * 4, (5, 3), k_max=8)  # loads of 1 and 2
    assert reached(done) == [(5, 3), (3, 5)]
    assert any("lower first from 5 to 3 replicas" in reason and "K_max 8" in reason for reason in reasons(done))


def test_the_start_counts_as_a_re_allocation() -> None:
    done = controlled([10.0] * 4, (5, 3), k_max=8, t_ra_s=150.0)
    assert done.simulation.timeline.times_s == [0.0, 150.0]
    assert any("T_ra" in reason and "(3:5) has to wait" in reason for reason in reasons(done))


def test_a_shortage_brings_processors_and_a_lull_takes_them_away() -> None:
    done = controlled([10.0] * 2 + [30.0] * 6 + [5.0] * 8, (3, 4), t_min_s=0.35)
    totals = [sum(k) for k in reached(done)]
    assert max(totals) >= 10  # loads of 3 and 6
    assert totals[-1] <= 6
    assert {Scheduled("scale_out", "shortage"), Scheduled("scale_in", "over-provision")} <= set(scheduled(done))


def test_what_an_overloaded_operator_holds_back_is_allowed_for() -> None:
    """Behind a first operator that is too slow the second seems to have little to do."""
    done = controlled([40.0] * 3, (1, 3))
    assert reached(done)[1][1] >= 9  # a load of 8, where 10 per second have come through


def test_loops_are_taken_in() -> None:
    done = controlled([20.0] * 4, (6, 6), pipeline=LOOP, k_max=12)  # loads of 2 and 4
    assert reached(done)[-1] == (4, 8)
    assert all(not this.plan.predicted for this in done.rounds if this.plan)


def test_advice_is_given_again_until_it_is_followed() -> None:
    done = controlled([10.0] * 4, (5, 3), k_max=8, mode=Mode.ADVISE)
    assert reached(done) == [(5, 3)]
    assert sum(one.action == "rebalance" for one in scheduled(done)) >= 5


def test_an_order_that_is_under_way_is_neither_repeated_nor_taken_back() -> None:
    trace = Steps(rates_per_s=(10.0,) * 6, step_s=60.0).generate(np.random.default_rng(2))
    start = Allocation.of(first=Resources(1.0, 5), second=Resources(1.0, 3))
    chosen = DRS(DRSOptions(interval_s=30.0, t_ra_s=60.0, window=2, k_max=8))
    done = run(CHAIN, trace, chosen, seed=2, start=start, conditions=Conditions(replicas_delay_s=75.0))
    assert done.simulation.timeline.times_s == [0.0, 60.0 + 75.0]
    assert sum("is under way" in reason for reason in reasons(done)) == 2


def test_the_goal_is_the_strictest_requirement_unless_options_name_one() -> None:
    assert DRS(DRSOptions()).goal(CHAIN).t_max_s == 0.5
    assert DRS(DRSOptions()).goal(CHAIN).t_min_s == pytest.approx(0.225)
    assert DRS(DRSOptions(k_max=5)).goal(CHAIN).t_max_s is None
    assert DRS(DRSOptions(t_max_s=2.0, k_max=5)).goal(CHAIN).k_max == 5
    assert DRS(DRSOptions()).goal(LOOP).k_max == 24


def test_predictions_are_sums_along_paths() -> None:
    done = controlled([10.0] * 3, (4, 6), k_max=10)
    last = done.rounds[-1].plan
    assert last is not None
    predicted = last.predicted["first>second"].mean_s
    measured = done.simulation.responses("first>second").response_s.mean()
    assert predicted == pytest.approx(measured, rel=0.1)


def test_replicas_run_at_the_highest_share() -> None:
    done = controlled([10.0] * 3, (5, 3), k_max=8)
    assert {r.share for r in done.simulation.in_force.values()} == {1.0}


@pytest.mark.parametrize("smoothing", [{"alpha": 0.5}, {"window": 1}])
@pytest.mark.parametrize("model", ["mmk", "ggk_ac", "ggk_whitt"])
def test_every_model_and_smoothing_finds_a_placement(model: str, smoothing: dict[str, Any]) -> None:
    done = controlled([10.0] * 4, (6, 2), k_max=8, model=model, **smoothing)
    assert sum(reached(done)[-1]) == 8
    assert reached(done)[-1][1] >= 4


def test_options_are_typed() -> None:
    options = choose_policy(StaticOptions(), "drs", ["t_max_s=1", "model=ggk_whitt", "sample_every=20"])
    assert isinstance(options, DRSOptions)
    assert (options.model, options.sample_every) == ("ggk_whitt", 20)
    with pytest.raises(ConfigError, match="t_min_s: must be below t_max_s"):
        choose_policy(StaticOptions(), "drs", ["t_max_s=1", "t_min_s=2"])


def test_t_min_is_below_the_strictest_requirement() -> None:
    DRSOptions(t_min_s=0.3).check(CHAIN)
    DRSOptions(t_min_s=2.0, k_max=4).check(CHAIN)
    with pytest.raises(ConfigError, match=r"policy\.t_min_s: must be below the strictest requirement, which is 0\.5 s"):
        DRSOptions(t_min_s=0.5).check(CHAIN)


def batched(trigger_s: float | None, bound_s: float) -> Pipeline:
    """As Spark runs it: the second operator does most, and gets its tuples a micro-batch at a time.

    Its own begin at other times than those of the first, or a tuple would always wait for the same part of a cycle.
    """
    later_s = trigger_s and 1.35 * trigger_s
    return Pipeline(
        "batched",
        [
            Operator("first", 0.0002, shares=(0.4,), max_replicas=6, batches=Batches(0.05, trigger_s)),
            Operator("second", 0.0015, shares=(0.4,), max_replicas=6, batches=Batches(0.05, later_s)),
        ],
        [Edge("first", "second")],
        [Requirement("first>second", bound_s)],
    )


def in_batches(rates_per_s: Sequence[float], bound_s: float) -> SimulatedRun:
    """A rate for every ten seconds, from one replica each on."""
    pipeline = batched(0.2, bound_s)
    trace = Steps(rates_per_s=tuple(rates_per_s), step_s=10.0).generate(np.random.default_rng(2))
    held = Allocation.of({o.name: Resources(0.4) for o in pipeline.operators})
    return run(pipeline, trace, DRS(DRSOptions(interval_s=5.0, t_ra_s=10.0, window=2)), seed=2, start=held)


@pytest.mark.parametrize("replicas", [1, 2, 3])
@pytest.mark.parametrize("trigger_s", [None, 0.2, 0.4])
def test_micro_batches_are_foreseen(replicas: int, trigger_s: float | None) -> None:
    """At 200 tuples a second, and without a re-allocation."""
    pipeline = batched(trigger_s, bound_s=1e3)
    trace = Steps(rates_per_s=(200.0,) * 6, step_s=10.0).generate(np.random.default_rng(2))
    held = Allocation.of({o.name: Resources(0.4, replicas) for o in pipeline.operators})
    passive = DRS(DRSOptions(interval_s=10.0, t_ra_s=1e6))
    done = run(pipeline, trace, passive, seed=2, start=held)
    last = done.rounds[-1].plan
    assert last is not None
    simulated_s = done.simulation.responses("first>second").response_s.mean()
    assert last.predicted["first>second"].mean_s == pytest.approx(simulated_s, rel=0.15)


def test_replicas_are_not_added_for_what_micro_batches_take() -> None:
    """Half of 0.2 and of 0.27 s, and two overheads: 0.3 s are never kept, and no replica is to blame."""
    done = in_batches([150.0] * 12, bound_s=0.3)
    assert set(reached(done)) == {(1, 1)}
    assert any(re.search(r"micro-batches on the way take 0\.3\d* s with any number", r) for r in reasons(done))


def test_a_crowd_in_micro_batches_gets_replicas_and_loses_them_again() -> None:
    done = in_batches([150.0] * 6 + [480.0] * 6 + [150.0] * 9, bound_s=1.0)
    second = [k[1] for k in reached(done)]
    assert max(second) >= 2  # 0.72 cores of work, 0.4 for each
    assert second[0] == second[-1] == 1
    assert {Scheduled("scale_out", "shortage"), Scheduled("scale_in", "over-provision")} <= set(scheduled(done))


def test_a_standstill_costs_what_the_model_says() -> None:
    """Two runs on the same tuples, one with a re-allocation that stops everything: how much longer do they take?"""
    pipeline = Pipeline("one", [Operator("only", 0.1, scv=1.0, shares=(1.0,), max_replicas=3)])
    downtime_s, horizon_s = 20.0, 600.0
    longer_s = []
    for seed in range(8):
        trace = Steps(rates_per_s=(14.0,), step_s=horizon_s).generate(np.random.default_rng(seed))
        means_s = []
        for stop_s in (0.0, downtime_s):
            conditions = Conditions(restart=Restart(stop_s))
            simulation = Simulation(pipeline, trace, seed, conditions=conditions)
            simulation.advance(60.0)
            simulation.apply(Allocation.of(only=Resources(1.0, 2)))
            simulation.drain()
            means_s.append(simulation.responses("only").response_s.mean())
        longer_s.append(means_s[1] - means_s[0])
    network = OpenNetwork(14.0, (Station(14.0, 10.0),))
    assert np.mean(longer_s) == pytest.approx(network.pause_s((2,), downtime_s, horizon_s), rel=0.1)


def test_a_standstill_is_no_service_time() -> None:
    pipeline = Pipeline("one", [Operator("only", 0.1, scv=0.0, shares=(1.0,), max_replicas=3)])
    trace = Steps(rates_per_s=(5.0,), step_s=60.0).generate(np.random.default_rng(1))
    simulation = Simulation(pipeline, trace, 1, conditions=Conditions(restart=Restart(10.0)))
    simulation.advance(20.0)
    simulation.apply(Allocation.of(only=Resources(1.0, 2)))
    assert simulation.observe(60.0).operators["only"].services.mean_s == pytest.approx(0.1)


def test_a_re_allocation_that_costs_more_than_it_brings_is_not_made() -> None:
    free = controlled([10.0] * 8, (4, 4), k_max=8)
    assert reached(free) == [(4, 4), (3, 5)]
    costly = controlled([10.0] * 8, (4, 4), k_max=8, downtime_s=20.0)
    assert reached(costly) == [(4, 4)]
    assert Scheduled("none", "cost") in scheduled(costly)
    assert DRSOptions(downtime_s=3.0).restart == Restart(3.0)
    assert DRSOptions().restart is None
