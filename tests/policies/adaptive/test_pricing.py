from __future__ import annotations

from functools import cache
from itertools import pairwise
from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mead.policies.adaptive.decision import PricedBacklogs
from mead.policies.adaptive.hybrid import TwoKnobs
from mead.policies.adaptive.kernel import Rule, decide
from mead.policies.adaptive.knobs import levels
from mead.policies.adaptive.pricing import CHANGE_COSTS, PRICES, Rulebook, Setting
from mead.policies.adaptive.rates import RateModel, learn
from mead.queueing import Edge
from mead.values import Batches, Operator, Pipeline, Requirement, Resources

MEAN, LATE = Requirement("a>b", 0.5), Requirement("a>b", 0.5, 95)


@cache
def arrivals() -> RateModel:
    rng = np.random.default_rng(2)
    return learn(rng.poisson(np.repeat(rng.gamma(3.0, 110.0, 60), 5)).astype(float), 1.0, most=700.0)


def tandem(*requirements: Requirement, **b: object) -> Pipeline:
    return Pipeline(
        "tandem",
        [Operator("a", 0.0005), Operator("b", **({"demand_s": 0.0015} | b))],  # type: ignore[arg-type]
        [Edge("a", "b")],
        requirements,
    )


def rule(
    requirement: Requirement, price: int, *, name: str = "b", elsewhere_s: float = 0.0, change_cost: int = 0
) -> Rule:
    setting = Setting({requirement: price}, change_cost)
    stays_s = {"a" if name == "b" else "b": elsewhere_s}
    return Rulebook(1.0).rules(tandem(requirement), arrivals(), setting, stays_s)[name]


def level(used: Rule, tuples: float, rate_per_s: float = 330.0, now: int = 4) -> int:
    return int(decide(used, tuples * used.demand_s, rate_per_s, np.array([now])))


@given(
    shares=st.lists(st.sampled_from([0.25, 0.4, 0.5, 0.75, 1.0]), min_size=1, unique=True).map(sorted),
    least=st.integers(1, 3),
    more=st.integers(0, 3),
)
def test_levels_are_all_amounts_of_cores_each_with_the_fewest_replicas(
    shares: list[float], least: int, more: int
) -> None:
    operator = Operator("b", 0.001, shares=tuple(shares), min_replicas=least, max_replicas=least + more)
    found = levels(operator)
    possible = [Resources(share, k) for share in shares for k in range(least, least + more + 1)]
    assert {round(r.cores, 9) for r in found} == {round(r.cores, 9) for r in possible}
    assert all(a.cores < b.cores - 1e-9 for a, b in pairwise(found))
    for chosen in found:
        same = [r for r in possible if abs(r.cores - chosen.cores) < 1e-9]
        assert chosen in same
        assert chosen.replicas == min(r.replicas for r in same)


@pytest.mark.parametrize("requirement", [MEAN, LATE], ids=str)
def test_a_higher_price_gives_more_to_the_same_backlog(requirement: Requirement) -> None:
    backlogs = np.array([0.0, 20.0, 60.0, 120.0, 200.0, 400.0, 800.0])
    rules = [rule(requirement, price) for price in range(0, PRICES.size, 4)]
    chosen = np.array([[level(used, n) for n in backlogs] for used in rules])
    assert (np.diff(chosen.mean(axis=1)) >= 0).all()
    assert chosen[-1].mean() > chosen[0].mean() + 0.5
    assert chosen[-1, 3] == 4  # at the highest price a backlog of the bound's length gets everything


def test_dear_changes_keep_the_level_in_force() -> None:
    free, dear = rule(MEAN, 6), rule(MEAN, 6, change_cost=CHANGE_COSTS.size - 1)
    assert level(free, 0.0, now=4) < 4
    assert level(dear, 0.0, now=4) == 4
    assert dear.change_costs.max() > free.change_costs.max()


def test_a_tuple_that_was_held_up_elsewhere_is_late_sooner() -> None:
    def backlog_for_everything(elsewhere_s: float) -> int:
        used = rule(LATE, 4, elsewhere_s=elsewhere_s)
        return next(n for n in range(0, 2000, 5) if level(used, n, now=0) == 4)

    assert 0 < backlog_for_everything(0.3) < backlog_for_everything(0.0)


def test_a_mean_is_a_sum_so_what_is_spent_elsewhere_does_not_count() -> None:
    assert rule(MEAN, 6, elsewhere_s=0.4).costs.tolist() == rule(MEAN, 6).costs.tolist()


def test_half_of_all_tuples_are_late_where_their_response_is_the_bound() -> None:
    operator = Operator("b", 0.001)
    grid = np.array([0.0, 0.399, 0.499, 3.0])
    charges = PricedBacklogs(operator, levels(operator), grid, 1.0, 300.0)
    charges.add(LATE, elsewhere_s=0.0, price=2.0)
    per_period = charges.total.arriving[:, 4] * 300.0  # at one core
    assert per_period[0] == pytest.approx(0.0, abs=1e-6)
    assert per_period[2] == pytest.approx(2.0 * 0.5 * 20)  # 0.5 s in all: half are late, and each uses 20 units
    assert per_period[3] == pytest.approx(2.0 * 20, rel=1e-6)
    nearer = PricedBacklogs(operator, levels(operator), grid, 1.0, 300.0)
    nearer.add(LATE, elsewhere_s=0.1, price=2.0)
    assert nearer.total.arriving[1, 4] * 300.0 == pytest.approx(2.0 * 0.5 * 20)
    nothing_left = PricedBacklogs(operator, levels(operator), grid, 1.0, 300.0)
    nothing_left.add(LATE, elsewhere_s=9.0, price=2.0)
    assert np.isfinite(nothing_left.total.arriving).all()


def test_a_mean_is_charged_its_price_where_the_response_is_the_bound() -> None:
    operator = Operator("b", 0.001)
    # By Little's law, 0.499 s of 300 tuples per second.
    charges = PricedBacklogs(operator, levels(operator), np.array([0.499 * 300 * 0.001]), 1.0, 300.0)
    charges.add(MEAN, elsewhere_s=0.0, price=2.0)
    assert charges.total.waiting[0, 4] == pytest.approx(2.0)


def test_an_operator_on_no_required_path_gets_what_it_needs_and_no_more() -> None:
    pipeline = Pipeline(
        "fork",
        [Operator("a", 0.0001), Operator("asked", 0.001), Operator("unasked", 0.001)],
        [Edge("a", "asked"), Edge("a", "unasked")],
        [Requirement("a>asked", 0.3)],
    )
    setting = Setting({pipeline.requirements[0]: 8})
    rules = Rulebook(1.0).rules(pipeline, arrivals(), setting, {})
    for backlog in (0.0, 50.0, 150.0):
        assert level(rules["unasked"], backlog) <= level(rules["asked"], backlog)
    assert level(rules["unasked"], 100.0, now=0) == 0
    assert level(rules["unasked"], 20_000.0, now=0) == 4


def test_an_operator_with_one_level_has_nothing_to_decide() -> None:
    pipeline = tandem(MEAN, shares=(0.7,))
    used = Rulebook(1.0).rules(pipeline, arrivals(), Setting({MEAN: 6}), {})["b"]
    assert level(used, 10_000.0, now=0) == 0


def test_rates_are_those_at_the_operator() -> None:
    pipeline = Pipeline(
        "map", [Operator("a", 0.0005), Operator("b", 0.0005)], [Edge("a", "b", 3.0)], [Requirement("a>b", 0.5)]
    )
    rules = Rulebook(1.0).rules(pipeline, arrivals(), Setting(dict.fromkeys(pipeline.requirements, 6)), {})
    assert rules["a"].rates == pytest.approx(arrivals().rates)
    assert rules["b"].rates == pytest.approx(3 * arrivals().rates)


def test_the_rule_of_a_micro_batch_knows_its_batches() -> None:
    pipeline = tandem(MEAN, batches=Batches(0.1, trigger_s=0.4, max_tuples=200))
    rules = Rulebook(1.0).rules(pipeline, arrivals(), Setting({MEAN: 6}), {})
    used = rules["b"]
    assert (used.overhead_s, used.trigger_s, used.max_tuples) == (0.1, 0.4, 200.0)
    assert used.gate_s == pytest.approx(0.1 + 0.4 / 2)
    # 200 tuples take 0.1 s and 0.3 s of work at one core.
    assert used.speeds[-1] == pytest.approx(0.3 / 0.4)
    assert rules["a"].gate_s == 0
    assert rules["a"].max_tuples == inf


def test_a_rule_asked_for_again_is_improved_from_where_it_was() -> None:
    book, setting = Rulebook(1.0), Setting({MEAN: 6})
    first = book.rules(tandem(MEAN), arrivals(), setting, {})["b"]
    costs = [book.rules(tandem(MEAN), arrivals(), setting, {})["b"].costs for _ in range(30)]
    moved = [np.abs(b - b.min() - (a - a.min())).max() for a, b in pairwise(costs)]
    assert moved[-1] < 0.01
    settled = first._replace(costs=costs[-1])
    same = [level(first, n, now=now) == level(settled, n, now=now) for n in range(0, 600, 10) for now in range(5)]
    assert np.mean(same) > 0.95  # sixty sweeps were enough to begin with


@pytest.mark.parametrize(("surge", "sooner", "ready"), [(0.7, 2, 3), (0.0, 2, 1), (0.7, 0, 1)])
def test_replicas_are_ready_for_a_jump_where_they_would_come_too_late(surge: float, sooner: int, ready: int) -> None:
    p99 = Requirement("b", 1.0, 99)
    one = Pipeline("one", [Operator("b", 0.004, max_replicas=4)], [], [p99])
    calm = learn(np.random.default_rng(1).poisson(120.0, 100).astype(float), 1.0, most=1000.0)
    spiky = learn(np.append(np.full(99, 120.0), 950.0), 1.0, most=1000.0)  # 3.8 cores of work in one second of the past
    book = Rulebook(1.0, TwoKnobs(0.05, 1.0, surge), sooner)
    assert book.rules(one, calm, Setting({p99: 6}), {})["b"].ready == ready
    assert book.rules(one, spiky, Setting({p99: 6}), {})["b"].ready == (4 if ready > 1 else 1)
