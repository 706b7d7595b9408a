from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
import pytest

from mead.arrays import FloatArray
from mead.policies.adaptive.hybrid import TwoKnobs
from mead.policies.adaptive.lookahead import Outlook
from mead.policies.adaptive.price_search import SAVING, Found, PriceSearch
from mead.policies.adaptive.pricing import PRICES, Rulebook, Setting
from mead.policies.adaptive.rates import learn
from mead.queueing import MAP, Edge
from mead.values import Operator, Pipeline, Requirement

MEAN, LATE = Requirement("a>b", 0.5), Requirement("a>b", 1.0, 95)


@cache
def counts() -> FloatArray:
    times_s = np.cumsum(MAP.two_state(rate_per_s=330.0, idc=100.0).sample(60_000, np.random.default_rng(6)))
    return np.bincount((times_s[times_s < 150.0] / 0.1).astype(int), minlength=1500).astype(float)


@dataclass
class Fresh(Rulebook):
    """Solves every rule from the beginning, so that what is found does not depend on the way to it."""

    forgets: bool = field(default=True)

    def rules(self, *given: object) -> dict[str, object]:  # type: ignore[override]
        self._values.clear()
        return super().rules(*given)  # type: ignore[arg-type, return-value]


def search(*requirements: Requirement, courses: list[FloatArray] | None = None, delay: int = 0) -> PriceSearch:
    pipeline = Pipeline("tandem", [Operator("a", 0.0001), Operator("b", 0.0015)], [Edge("a", "b")], requirements)
    model = learn(counts().reshape(-1, 10).sum(axis=1), 1.0, most=667.0, delay=delay)
    return PriceSearch(Fresh(1.0), pipeline, model, courses or [counts()], delay, {})


def scanned(requirement: Requirement) -> list[Outlook]:
    """The outlooks of all prices."""
    every = search(requirement)
    return [every._at(Setting({requirement: price})).outlook for price in range(PRICES.size)]


@pytest.mark.parametrize("requirement", [MEAN, LATE], ids=str)
@pytest.mark.parametrize("start", [0, 8, 16])
def test_the_price_found_keeps_the_target_and_the_next_lower_one_does_not(requirement: Requirement, start: int) -> None:
    used = [outlook.usage[requirement] for outlook in scanned(requirement)]
    assert used[0] > used[-1]
    target = 0.5 * (used[0] + used[-1])
    found = search(requirement).cheapest(Setting({requirement: start}), {requirement: target})
    setting, rules, outlook = found.setting, found.rules, found.outlook
    place = setting.prices[requirement]
    assert outlook.usage[requirement] == pytest.approx(used[place])
    assert used[place] <= target
    assert place > 0
    assert used[place - 1] > target
    assert not outlook.fullest
    assert set(rules) == {"a", "b"}
    if sorted(used, reverse=True) == used:  # then there is one such price only: the lowest of all that will do
        assert place == next(i for i, u in enumerate(used) if u <= target)


def test_a_dearer_price_uses_less_and_costs_more() -> None:
    seen = scanned(MEAN)
    assert seen[-1].usage[MEAN] < 0.5 * seen[0].usage[MEAN]
    assert seen[-1].cores > seen[0].cores


def test_a_target_that_all_keep_is_met_at_the_lowest_price() -> None:
    found = search(MEAN).cheapest(Setting({MEAN: 9}), {MEAN: 1e6})
    assert found.setting.prices[MEAN] == 0
    assert not found.outlook.fullest


def test_where_nothing_is_enough_everything_is_given() -> None:
    found = search(MEAN).cheapest(Setting({MEAN: 3}), {MEAN: 1e-6})
    assert found.outlook.fullest
    assert found.setting.prices[MEAN] == PRICES.size - 1
    used = found.rules["b"]
    assert (used.costs.argmin(axis=2) == used.cores.size - 1).all()
    assert found.outlook.usage[MEAN] <= min(seen.usage[MEAN] for seen in scanned(MEAN))


@pytest.mark.parametrize("start", [0, 6, 16])
def test_of_two_requirements_both_are_kept_whichever_is_harder(start: int) -> None:
    tight = Requirement("a>b", 0.4, 95)
    both = search(MEAN, tight)
    lowest, highest = (both._at(Setting({MEAN: price, tight: price})).outlook for price in (0, PRICES.size - 1))
    halfway = {r: 0.5 * (lowest.usage[r] + highest.usage[r]) for r in (MEAN, tight)}
    for targets in (halfway, {**halfway, MEAN: 10.0}, {**halfway, tight: 100.0}):
        found = both.cheapest(Setting({MEAN: start, tight: start}), targets)
        setting, outlook = found.setting, found.outlook
        assert all(outlook.usage[r] <= target for r, target in targets.items())
        assert lowest.cores < outlook.cores < highest.cores
        assert not outlook.fullest
        for requirement in (MEAN, tight):  # neither price could be lower
            if lower := both._next(setting, requirement, -1):
                assert any(lower.outlook.usage[r] > target for r, target in targets.items())


def test_of_several_courses_the_worst_counts() -> None:
    quiet = np.full(1500, 10.0)
    usage = [
        search(MEAN, courses=courses)._at(Setting({MEAN: 6})).outlook.usage[MEAN]
        for courses in ([counts()], [quiet], [quiet, counts()])
    ]
    assert usage[1] < usage[0]
    assert usage[2] == pytest.approx(usage[0])


def test_a_delay_makes_the_same_price_dearer_or_worse() -> None:
    def at(found: Found) -> tuple[float, float]:
        return found.outlook.usage[MEAN], found.outlook.cores

    at_once, late = (at(search(MEAN, delay=delay)._at(Setting({MEAN: 8}))) for delay in (0, 4))
    assert late[0] > at_once[0] or late[1] > at_once[1]


def test_every_setting_is_tried_once() -> None:
    tried = search(MEAN)
    tried.cheapest(Setting({MEAN: 8}), {MEAN: 0.5})
    seen = dict(tried._tried)
    tried.cheapest(Setting({MEAN: 8}), {MEAN: 0.5})
    assert all(tried._tried[key] is found for key, found in seen.items())
    other = replace(Setting({MEAN: 8}), change_cost=4)
    assert tried._at(other).outlook is not tried._at(Setting({MEAN: 8})).outlook


P99 = Requirement("matcher", 1.0, 99)


def late_replicas(sooner: int) -> PriceSearch:
    """Half a core of work, and every minute two and a half for ten seconds; replicas come ``sooner`` s after shares."""
    per_bin = np.tile(np.repeat([12.0, 62.0], [500, 100]), 5)
    matcher = Operator("matcher", 0.004, max_replicas=4)
    model = learn(per_bin.reshape(-1, 10).sum(axis=1), 1.0, most=1000.0)
    book = Fresh(1.0, TwoKnobs(replica_cost_cores=0.05, replica_change_cost=1.0), sooner)
    return PriceSearch(book, Pipeline("one", [matcher], [], [P99]), model, [per_bin], sooner, {})


@pytest.mark.parametrize("start", [0, 3])
def test_replicas_that_would_come_too_late_are_held_as_many_as_it_takes(start: int) -> None:
    tried, targets = late_replicas(sooner=3), {P99: 0.5}
    found = tried.cheapest(Setting({P99: 6}, spare=start), targets)
    outlook = found.outlook
    assert outlook.usage[P99] <= 0.5
    assert found.rules["matcher"].ready == 1 + found.setting.spare > 1
    by_spare = [tried._priced(Setting({P99: 6}, spare=spare), targets).outlook for spare in range(4)]
    kept = [one.cores for one in by_spare if one.usage[P99] <= 0.5]
    assert outlook.cores <= (1 + 2 * SAVING) * min(kept)
    assert by_spare[0].usage[P99] > 0.5 or by_spare[0].cores > outlook.cores  # by prices alone it is worse


def test_replicas_that_come_with_shares_are_never_held_in_reserve() -> None:
    found = late_replicas(sooner=0).cheapest(Setting({P99: 6}, spare=2), {P99: 0.5})
    assert found.setting.spare == 0
    assert found.rules["matcher"].ready == 1
