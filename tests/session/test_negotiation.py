from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mead import simulator as experiment
from mead.clock import VirtualClock
from mead.loop import ControlLoop, NotGranted
from mead.policies.drs.facts import OrderArrived
from mead.policies.drs.policy import DRS, DRSOptions
from mead.queueing import Edge
from mead.session.negotiation import PATIENCE_S, NegotiatedEngine, Pool, within
from mead.simulator import Simulation
from mead.values import Allocation, Knowledge, Observation, Operator, Pipeline, Plan, Resources, Round
from mead.workload import Poisson

CHAIN = Pipeline(
    "chain",
    [Operator(name, 0.2, scv=1.0, shares=(1.0,), max_replicas=20) for name in ("first", "second")],
    [Edge("first", "second")],
)


def held(**replicas: int) -> Allocation:
    return Allocation.of({name: Resources(1.0, k) for name, k in replicas.items()})


class Greedy:
    """Asks for eight processors in its first round, and knows no plan in later ones."""

    name, interval_s = "greedy", 1.0

    def analyze(self, observation: Observation, knowledge: Knowledge) -> Allocation:
        del knowledge
        if observation.time_s > self.interval_s:
            raise ValueError("no plan")
        return held(first=4, second=4)

    def plan(self, observation: Observation, analysis: Allocation, knowledge: Knowledge) -> Plan:
        del observation, knowledge
        return Plan.keep(analysis, "greed")


def run(pool: Pool, rate_per_s: float, duration_s: float = 300.0) -> tuple[Simulation, list[Round]]:
    """DRS on a pool, from two processors each on."""
    trace = Poisson(rate_per_s=rate_per_s, duration_s=duration_s).generate(np.random.default_rng(1))
    start = held(first=2, second=2)
    simulation = Simulation(CHAIN, trace, 1, allocation=start)
    engine = NegotiatedEngine(simulation, pool, start)
    rounds: list[Round] = []
    policy = DRS(DRSOptions(interval_s=20.0, t_max_s=0.6, t_ra_s=40.0, window=2))
    loop = ControlLoop(engine, policy, Knowledge(CHAIN), VirtualClock(), start=start, record=rounds.append)
    loop.run(duration_s)
    return simulation, rounds


def replicas(simulation: Simulation) -> list[int]:
    return [sum(one.replicas for one in allocation.values()) for allocation in simulation.timeline.allocations]


def test_what_is_granted_is_in_force() -> None:
    pool = Pool(capacity=40, held=4)
    simulation, rounds = run(pool, rate_per_s=18.0)
    assert not any(this.error for this in rounds)
    assert replicas(simulation)[-1] == pool.held >= 9  # a load of 3.6 at both


def test_a_pool_that_grants_less_is_used_up_and_asked_again() -> None:
    pool = Pool(capacity=9, held=4)
    simulation, rounds = run(pool, rate_per_s=20.0)  # it takes five of each at least
    assert max(replicas(simulation)) == pool.held == 9
    refused = [this.error for this in rounds if this.error]
    assert len(refused) >= 2
    assert all("processors were ordered and 9 were granted" in error for error in refused)
    for this in rounds:
        if this.error:
            assert this.in_force is not None
            assert f"{this.in_force} is in force" in this.error


def test_a_round_that_keeps_what_there_is_takes_nothing_back_that_was_granted() -> None:
    start, pool = held(first=2, second=2), Pool(capacity=5, held=4)
    simulation = Simulation(
        CHAIN, Poisson(rate_per_s=1.0, count=10).generate(np.random.default_rng(1)), 1, allocation=start
    )
    loop = ControlLoop(
        NegotiatedEngine(simulation, pool, start), Greedy(), Knowledge(CHAIN), VirtualClock(), start=start
    )
    loop.settled = True
    loop.clock.wait_until(1.0)
    refused = loop.round()
    assert "8 processors were ordered and 5 were granted" in refused.error
    assert refused.in_force == held(first=2, second=3)
    loop.clock.wait_until(2.0)
    failed = loop.round()
    assert "no plan" in failed.error
    assert failed.in_force == simulation.in_force == held(first=2, second=3)
    assert pool.held == 5


def test_processors_that_come_late_are_used() -> None:
    pool = Pool(capacity=9, held=4)
    trace_s = 300.0
    simulation, _ = run(pool, rate_per_s=20.0, duration_s=trace_s)
    pool.capacity = 20
    granted = NegotiatedEngine(simulation, pool, simulation.in_force)
    granted.apply(held(first=6, second=6))
    assert pool.held == 12
    assert simulation.in_force == held(first=6, second=6)


def test_processors_that_are_not_needed_go_back() -> None:
    pool = Pool(capacity=12, held=12)
    simulation = Simulation(
        CHAIN,
        Poisson(rate_per_s=1.0, count=10).generate(np.random.default_rng(1)),
        1,
        allocation=held(first=6, second=6),
    )
    NegotiatedEngine(simulation, pool, simulation.in_force).apply(held(first=1, second=2))
    assert pool.held == 3


def test_a_refusal_names_both_numbers() -> None:
    simulation = Simulation(CHAIN, Poisson(rate_per_s=1.0, count=10).generate(np.random.default_rng(1)), 1)
    engine = NegotiatedEngine(simulation, Pool(capacity=5), held(first=2, second=2))
    with pytest.raises(NotGranted, match="8 processors were ordered and 5 were granted"):
        engine.apply(held(first=4, second=4))
    assert simulation.in_force == held(first=2, second=3)


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=4), st.integers(0, 30))
def test_what_is_cut_fits_and_leaves_one_to_everybody(both: list[tuple[int, int]], spare: int) -> None:
    wanted, now = (
        Allocation.of({str(i): Resources(1.0, k) for i, k in enumerate(ks)}) for ks in zip(*both, strict=True)
    )
    processors = len(both) + spare
    cut = within(wanted, now, processors)
    assert sum(one.replicas for one in cut.values()) == min(processors, sum(one.replicas for one in wanted.values()))
    assert all(1 <= cut[name].replicas <= wanted[name].replicas for name in wanted)


def test_a_pool_never_gives_more_than_it_has() -> None:
    pool = Pool(3)
    assert (pool.request(-2), pool.request(5), pool.release(9), pool.held) == (0, 3, 3, 0)
    with pytest.raises(ValueError, match="cannot have given"):
        Pool(2, held=3)


class Slow:
    """A resource manager that grants nothing at once: what is asked for comes when ``deliver`` is called."""

    def __init__(self, held: int) -> None:
        self.held, self.wanted = held, held

    def request(self, processors: int) -> int:
        self.wanted = self.held + processors
        return 0

    def release(self, processors: int) -> int:
        self.wanted = self.held = self.held - processors
        return processors

    def deliver(self, processors: int) -> None:
        self.held = min(self.held + processors, self.wanted)


def slow_engine(manager: Slow) -> tuple[Simulation, NegotiatedEngine]:
    start = held(first=2, second=2)
    trace = Poisson(rate_per_s=1.0, count=100).generate(np.random.default_rng(1))
    simulation = Simulation(CHAIN, trace, 1, allocation=start)
    return simulation, NegotiatedEngine(simulation, manager, start)


def test_processors_that_come_later_are_used_from_the_next_look_on() -> None:
    manager = Slow(held=4)
    simulation, engine = slow_engine(manager)
    with pytest.raises(NotGranted, match="processors that come later are used in a later round"):
        engine.apply(held(first=3, second=5))
    assert simulation.in_force == held(first=2, second=2)
    manager.deliver(2)
    assert engine.observe(1.0).allocation == held(first=3, second=3) == engine.in_force
    manager.deliver(9)
    assert engine.observe(2.0).allocation == held(first=3, second=5)
    engine.observe(3.0)
    assert (manager.held, manager.wanted) == (8, 8)


def test_who_keeps_what_has_come_so_far_takes_no_order_back() -> None:
    manager = Slow(held=4)
    simulation, engine = slow_engine(manager)
    with pytest.raises(NotGranted):
        engine.apply(held(first=3, second=5))
    engine.apply(held(first=2, second=2))  # a round that keeps what is in force
    assert manager.wanted == 8
    manager.deliver(4)
    engine.observe(1.0)
    assert simulation.in_force == held(first=3, second=5)


def test_who_keeps_what_is_in_force_hears_no_complaint_if_the_rest_has_come_meanwhile() -> None:
    manager = Slow(held=4)
    simulation, engine = slow_engine(manager)
    with pytest.raises(NotGranted):
        engine.apply(held(first=3, second=5))
    manager.deliver(4)  # between a look at the engine and the order that follows from it
    engine.apply(held(first=2, second=2))
    assert simulation.in_force == held(first=3, second=5)


def test_another_order_takes_the_place_of_one_that_is_under_way() -> None:
    manager = Slow(held=4)
    simulation, engine = slow_engine(manager)
    with pytest.raises(NotGranted):
        engine.apply(held(first=3, second=5))
    manager.deliver(1)
    engine.apply(held(first=1, second=2))
    assert (manager.held, simulation.in_force) == (3, held(first=1, second=2))
    engine.observe(1.0)
    assert simulation.in_force == held(first=1, second=2)


def test_an_order_that_nobody_repeats_is_withdrawn_in_the_end() -> None:
    manager = Slow(held=4)
    simulation, engine = slow_engine(manager)
    engine.observe(100.0)
    with pytest.raises(NotGranted):
        engine.apply(held(first=3, second=5))
    engine.observe(100.0 + PATIENCE_S - 1.0)
    assert manager.wanted == 8, "it stands as long as it may still come in time"
    engine.observe(100.0 + PATIENCE_S)
    assert manager.wanted == 4
    manager.deliver(4)
    engine.observe(500.0)
    assert simulation.in_force == held(first=2, second=2) == engine.requested, "what nobody wants any more is not used"


def test_what_has_come_of_an_order_stays_when_the_rest_is_withdrawn() -> None:
    manager = Slow(held=4)
    simulation, engine = slow_engine(manager)
    with pytest.raises(NotGranted):
        engine.apply(held(first=3, second=5))
    manager.deliver(2)
    engine.observe(PATIENCE_S)
    assert (manager.held, manager.wanted) == (6, 6)
    assert simulation.in_force == held(first=3, second=3) == engine.requested


def test_an_order_that_is_repeated_stands() -> None:
    manager = Slow(held=4)
    simulation, engine = slow_engine(manager)
    for time_s in (0.0, 0.6 * PATIENCE_S, 1.2 * PATIENCE_S):
        engine.observe(time_s)
        with pytest.raises(NotGranted):
            engine.apply(held(first=3, second=5))
    manager.deliver(4)
    engine.observe(1.8 * PATIENCE_S)
    assert simulation.in_force == held(first=3, second=5)


def test_drs_says_that_what_it_ordered_has_come() -> None:
    """A manager that delivers two processors a minute, and a load of 3.6 at both operators."""
    manager = Slow(held=4)
    trace = Poisson(rate_per_s=18.0, duration_s=400.0).generate(np.random.default_rng(1))
    start = held(first=2, second=2)
    simulation = Simulation(CHAIN, trace, 1, allocation=start)
    rounds: list[Round] = []

    def record(this: Round) -> None:
        rounds.append(this)
        manager.deliver(2)

    policy = DRS(DRSOptions(interval_s=20.0, t_max_s=0.6, t_ra_s=200.0, window=2))
    loop = ControlLoop(
        NegotiatedEngine(simulation, manager, start),
        policy,
        Knowledge(CHAIN),
        VirtualClock(),
        start=start,
        record=record,
    )
    loop.run(400.0)
    totals = replicas(simulation)
    assert totals[-1] >= 9
    assert all(later - earlier <= 2 for earlier, later in pairwise(totals)), "two at a time"
    facts = [fact for this in rounds if this.plan for fact in this.plan.reason.facts]
    arrived = [fact.in_force == fact.ordered for fact in facts if isinstance(fact, OrderArrived)]
    assert set(arrived) == {True, False}, "some orders came in part"


def test_a_run_on_a_pool_starts_within_it_and_says_what_it_did_not_get() -> None:
    trace = Poisson(rate_per_s=20.0, duration_s=200.0).generate(np.random.default_rng(1))
    policy = DRS(DRSOptions(interval_s=20.0, t_max_s=0.6, t_ra_s=40.0, window=2))
    done = experiment.run(CHAIN, trace, policy, seed=1, processors=9)
    assert max(replicas(done.simulation)) == 9
    assert any("9 were granted" in this.error for this in done.rounds)
