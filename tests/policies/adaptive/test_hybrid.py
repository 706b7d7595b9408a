"""Both knobs at once: which one is turned, what that costs, and that one knob alone is the adaptive policy."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mead.arrays import FloatArray
from mead.policies import PolicyOptions, make_policy
from mead.policies.adaptive.decision import backlogs
from mead.policies.adaptive.hybrid import HybridOptions, TwoKnobs
from mead.policies.adaptive.kernel import Rule, decide, follow
from mead.policies.adaptive.policy import AdaptiveOptions
from mead.policies.reasons import KnobChoice
from mead.reports.judge import Outcome
from mead.simulator import Conditions, SimulatedRun, run
from mead.values import Operator, Pipeline, Requirement, Resources, Round
from mead.workload import KINDS, Trace

SHARES = (0.4, 0.7, 1.0)
KNOBS = TwoKnobs(replica_cost_cores=0.05, replica_change_cost=1.0)
GIVEN = KNOBS.levels(Operator("matcher", 0.002, shares=SHARES, max_replicas=3))
DEMAND_S = 0.002


@cache
def bursty(rate_per_s: float = 330.0) -> Trace:
    return KINDS["map"].build(rate_per_s=rate_per_s, idc=50.0, duration_s=120.0).generate(np.random.default_rng(3))


def one(max_replicas: int, demand_s: float = 0.004, requirement: Requirement | None = None) -> Pipeline:
    matcher = Operator("matcher", demand_s, max_replicas=max_replicas)
    return Pipeline("one", [matcher], [], [requirement or Requirement("matcher", 0.5)])


def controlled(options: PolicyOptions, pipeline: Pipeline, **conditions: float) -> SimulatedRun:
    return run(pipeline, bursty(), make_policy(options), seed=1, conditions=Conditions(**conditions))  # type: ignore[arg-type]


def orders(this: SimulatedRun) -> list[Resources]:
    return [turn.plan.allocation["matcher"] for turn in this.rounds if turn.plan is not None]


def replica_changes(this: SimulatedRun) -> int:
    allocations = this.simulation.timeline.allocations
    return sum(a["matcher"].replicas != b["matcher"].replicas for a, b in pairwise(allocations))


@pytest.mark.parametrize("share_delay_s", [0.0, 2.0])
@pytest.mark.parametrize("requirement", [Requirement("matcher", 0.3), Requirement("matcher", 0.5, 95)], ids=str)
def test_with_one_replica_it_is_the_adaptive_policy(requirement: Requirement, share_delay_s: float) -> None:
    pipeline = one(1, 0.0015, requirement)
    both = [
        controlled(options, pipeline, share_delay_s=share_delay_s, replicas_delay_s=9.0)
        for options in (AdaptiveOptions(), HybridOptions(replica_cost_cores=0.3, replica_change_cost=7.0))
    ]
    adaptive, hybrid = ([(turn.time_s, turn.plan) for turn in this.rounds] for this in both)
    assert hybrid == adaptive


def test_where_replicas_are_dear_to_change_shares_are_changed() -> None:
    free, dear = (
        controlled(HybridOptions(replica_change_cost=cost, replica_cost_cores=0.0), one(4)) for cost in (0.0, 3.0)
    )
    assert replica_changes(dear) < replica_changes(free) / 3
    for this in (free, dear):
        assert Outcome.of(this).met


def test_a_replica_that_costs_much_to_hold_is_left_out_where_one_can_do() -> None:
    light = one(4, 0.0022)  # 0.73 cores of work
    dear = controlled(HybridOptions(replica_cost_cores=2.0), light)
    cheap = controlled(HybridOptions(replica_cost_cores=0.0, replica_change_cost=0.0), light)
    late = [[given.replicas for given in orders(this)[60:]] for this in (dear, cheap)]
    assert sum(late[0]) < sum(late[1])
    assert Outcome.of(dear).met


def test_more_than_a_core_takes_more_than_a_replica() -> None:
    this = controlled(HybridOptions(), one(4, 0.005))  # 1.65 cores of work
    outcome = Outcome.of(this)
    assert outcome.met
    assert outcome.cpu < 2.6  # of 4
    assert not Outcome.of(controlled(HybridOptions(), one(1, 0.005))).met


def test_replicas_that_take_their_time_are_ordered_in_time_and_shares_bridge_the_gap() -> None:
    pipeline = one(4)
    both = {
        name: Outcome.of(controlled(options, pipeline, replicas_delay_s=6.0))
        for name, options in (("adaptive", AdaptiveOptions()), ("hybrid", HybridOptions()))
    }
    assert both["hybrid"].met
    assert both["hybrid"].cpu < both["adaptive"].cpu


def test_reasons_name_the_knob_and_what_the_other_would_cost() -> None:
    this = controlled(HybridOptions(), one(4))
    seen = Counter[str]()
    for before, turn in pairwise(this.rounds):
        for choice in choices(turn):
            assert before.plan is not None
            assert turn.plan is not None
            assert (choice.before, choice.after) == (before.plan.allocation["matcher"], turn.plan.allocation["matcher"])
            assert choice.alternative is not None
            assert (choice.alternative.replicas == choice.before.replicas) == (choice.knob == "replicas")
            seen[choice.knob] += 1
    assert min(seen[knob] for knob in ("replicas", "share", "none")) > 0


def choices(turn: Round) -> list[KnobChoice]:
    """The choices of a round between two knobs."""
    return [fact for fact in turn.plan.reason.facts if isinstance(fact, KnobChoice)] if turn.plan else []


def rule(seed: int, sooner: int, ready: float = 1.0) -> Rule:
    """Costs that fall with cores the more, the higher the backlog, and otherwise are anything."""
    cores = np.array([pair.cores for pair in GIVEN])
    grid = backlogs(4.0)[None, :, None]
    noise = np.random.default_rng(seed).uniform(0.0, 0.4, (4, 32, cores.size))
    return Rule(
        period_s=1.0,
        demand_s=DEMAND_S,
        gate_s=0.0,
        shares=np.array([pair.share for pair in GIVEN]),
        replicas=np.array([float(pair.replicas) for pair in GIVEN]),
        cores=cores,
        rents=cores,
        speeds=cores,
        overhead_s=0.0,
        trigger_s=0.0,
        max_tuples=np.inf,
        rates=np.geomspace(50.0, 1600.0, 4),
        smoothing=0.3,
        most_work=4.0,
        change_costs=KNOBS.change_costs(GIVEN, 0.03, float(sooner)),
        costs=cores + 3 * grid / cores + noise,
        partners=KNOBS.partners(GIVEN),
        sooner=sooner,
        ready=ready,
    )


def costs_of(used: Rule, work: float, rate: float) -> FloatArray:
    """Of every level: first between backlogs, then between rates."""
    grid = backlogs(used.most_work)
    v = next((i for i in range(30) if grid[i + 1] > work), 30)
    g = (work - grid[v]) / (grid[v + 1] - grid[v])
    by_rate = (1 - g) * used.costs[:, v] + g * used.costs[:, v + 1]
    return np.array([np.interp(rate, used.rates, costs) for costs in by_rate.T])


def naive_order(used: Rule, work: float, rate: float, shares: list[float], replicas: list[int]) -> Resources:
    """Known are the shares until a new one acts, the replicas until new ones come, and the last orders of both."""
    share_delay = len(shares) - 1

    def cheapest(now: Resources, work: float, *, replicas_stay: bool) -> Resources:
        costs = costs_of(used, work, rate) + used.change_costs[GIVEN.index(now)]
        may = [r.replicas == now.replicas if replicas_stay else r.replicas >= used.ready for r in GIVEN]
        return GIVEN[int(np.where(may, costs, np.inf).argmin())]

    def later(work: float, given: Resources) -> float:
        return max(work + rate * DEMAND_S - given.cores, 0.0)

    for d in range(share_delay):
        work = later(work, Resources(shares[d], replicas[d]))
    ordered = held = cheapest(Resources(shares[-1], replicas[share_delay]), work, replicas_stay=True)
    for d in range(share_delay, len(replicas) - 1):
        work = later(work, held)
        held = cheapest(Resources(held.share, replicas[d + 1]), work, replicas_stay=True)
    return Resources(ordered.share, cheapest(held, work, replicas_stay=False).replicas)


@settings(max_examples=60)
@given(
    seed=st.integers(0, 200),
    work=st.floats(0.0, 4.0),
    rate=st.floats(60.0, 1500.0),
    shares=st.lists(st.sampled_from(SHARES), min_size=1, max_size=3),
    more=st.lists(st.sampled_from([1, 2, 3]), min_size=4, max_size=7),
    ready=st.sampled_from([1.0, 2.0, 3.0]),
)
def test_the_share_is_for_soon_and_the_replicas_for_when_they_come(
    seed: int, work: float, rate: float, shares: list[float], more: list[int], ready: float
) -> None:
    used = rule(seed, len(more) - len(shares), ready)
    held = [*shares, *[shares[-1]] * (len(more) - len(shares))]
    pending = [GIVEN.index(Resources(s, k)) for s, k in zip(held, more, strict=True)]
    chosen = GIVEN[decide(used, work, rate, np.array(pending))]
    assert chosen == naive_order(used, work, rate, shares, more)


@pytest.mark.parametrize(("delay", "share_delay"), [(3, 0), (3, 1), (2, 2)])
def test_in_the_closed_loop_the_two_parts_of_an_order_act_at_their_times(delay: int, share_delay: int) -> None:
    used = rule(7, sooner=delay - share_delay)
    rng = np.random.default_rng(5)
    inflow: FloatArray = rng.poisson(np.repeat(rng.gamma(2.0, 30.0, 20), 20)).astype(float)
    start = [GIVEN.index(Resources(0.7, 2))] * (delay + 1)
    _, levels, _ = follow(used, inflow, inflow, 0.1, 0.0, np.array(start))
    shares, replicas = [0.7] * (share_delay + 1), [2] * (delay + 1)
    work, rate, seen = 0.0, 0.0, []
    for k in range(inflow.size // 10):
        now = Resources(shares[k], replicas[k])
        seen += [now] * 10
        count = 0.0
        for came in inflow[10 * k : 10 * k + 10]:
            work = max(work + came * DEMAND_S - now.cores * 0.1, 0.0)
            count += came
        rate += max(0.3, 1 / (k + 1)) * (count - rate)
        ordered = naive_order(used, work, rate, [*shares[k + 1 :], shares[-1]], [*replicas[k + 1 :], replicas[-1]])
        shares.append(ordered.share)
        replicas.append(ordered.replicas)
    assert [GIVEN[level] for level in levels] == seen


def test_a_change_of_both_knobs_costs_both_and_the_way_back_as_much() -> None:
    fees = KNOBS.change_costs(GIVEN, 0.03, late_s=0.0)
    assert (fees == fees.T).all()
    assert (np.diag(fees) == 0).all()
    for (i, a), (j, b) in product(enumerate(GIVEN), repeat=2):
        turned, moved = a.share != b.share, abs(a.replicas - b.replicas)
        assert fees[i, j] == pytest.approx(0.03 * turned + 1.0 * moved)
    cheap = replace(KNOBS, replica_change_cost=0.0).change_costs(GIVEN, 0.03, late_s=0.0)
    assert cheap[GIVEN.index(Resources(0.4, 1)), GIVEN.index(Resources(0.4, 2))] == pytest.approx(0.03)


def test_a_replica_that_takes_its_time_costs_the_work_that_it_misses() -> None:
    soon, late = (KNOBS.change_costs(GIVEN, 0.03, late_s) for late_s in (0.0, 4.0))
    for (i, a), (j, b) in product(enumerate(GIVEN), repeat=2):
        called = max(b.replicas - a.replicas, 0)
        assert late[i, j] - soon[i, j] == pytest.approx(4.0 * SHARES[-1] * called)


def jumping(calm_per_s: float = 120.0, jump_per_s: float = 650.0) -> Trace:
    """Three calm minutes, one of three to six times as much, and a calm one."""
    steps = KINDS["steps"].build(rates_per_s=(calm_per_s,) * 3 + (jump_per_s, calm_per_s), step_s=60.0)
    return steps.generate(np.random.default_rng(4))


@cache
def jumped(surge: float, replicas_delay_s: float) -> SimulatedRun:
    pipeline = one(4, requirement=Requirement("matcher", 1.0, 99))
    conditions = Conditions(replicas_delay_s=replicas_delay_s)
    return run(pipeline, jumping(), make_policy(HybridOptions(surge=surge)), seed=2, conditions=conditions)


def test_a_jump_such_as_never_seen_finds_replicas_that_are_ready_for_it() -> None:
    ready, unready = (jumped(surge, 2.0) for surge in (0.7, 0.0))
    calm = [[given.replicas for given in orders(this)[20:175]] for this in (ready, unready)]
    assert min(calm[0]) == 3
    assert min(calm[1]) < 3
    assert Outcome.of(ready).met
    assert not Outcome.of(unready).met
    assert Outcome.of(ready).cpu < 2.2  # of 4
    assert [choice.ready for choice in choices(ready.rounds[100])] == [3]


def test_where_replicas_come_at_once_none_is_kept_ready() -> None:
    assert orders(jumped(0.7, 0.0)) == orders(jumped(0.0, 0.0))
