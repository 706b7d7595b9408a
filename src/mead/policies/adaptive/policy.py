"""A rule for every operator that decides every second, with prices that are chosen every 15 seconds.

The rule reads the level of an operator from its backlog and the present rate: the decision of a Markov decision process
in which CPU, changes and backlog have a price (``decision``). The price of the backlog is the lowest at which the loop
of rules and pipeline, closed over the recent arrivals, keeps what is left of the requirement. Predictions are compared
with observations, and the difference is allowed for (``model_error``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import ceil
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from mead.keys import Positive
from mead.policies.adaptive.account import Account
from mead.policies.adaptive.kernel import Rule, costs_at, decide
from mead.policies.adaptive.knobs import Knobs, LevelCosts, OneKnob, list_neighbours
from mead.policies.adaptive.lookahead import Futures, Outlook, levels_of
from mead.policies.adaptive.model_error import ModelError
from mead.policies.adaptive.orders import Delays, Orders
from mead.policies.adaptive.price_search import PriceSearch
from mead.policies.adaptive.pricing import CHANGE_COSTS, PRICES, Rulebook, Setting
from mead.policies.adaptive.rates import learn, smoothing
from mead.policies.base import KEPT_IATS, NotReady, PolicyOptions, Tenths, Tuples, not_ready
from mead.policies.reasons import Allowances, Backlog, Exceeded, OutOfReach, ShortHistory, Unchanged
from mead.policies.registry import register
from mead.queueing import PATH_SEPARATOR
from mead.values import (
    COUNT_BIN_S,
    Allocation,
    Cause,
    Fact,
    Grounds,
    Knowledge,
    Move,
    Observation,
    Pipeline,
    Plan,
    Reason,
    Requirement,
)

FIRST_S = 10.0
"""Arrivals must be seen for this long before any level is changed."""

START = 6
"""The place of the first price: the search begins in the middle."""

SURPRISE_S, ALARMING = 3.0, 2.0
"""If the tuples of the last ``SURPRISE_S`` have used ``ALARMING`` times their allowance, prices are chosen at once."""

CALM_CHANGES_PER_HOUR = 500.0
"""About one change in seven seconds."""


class AdaptiveKeys(PolicyOptions):
    """The options of both adaptive policies."""

    interval_s: Tenths = Field(default=1.0, description="time between two decisions, s; a multiple of 0.1")
    replan_s: Positive = Field(default=15.0, description="time between two choices of prices, s")
    ahead: Literal["replay", "map", "both"] = Field(
        default="replay",
        description="arrivals that prices are tried on: the last ten minutes, ten minutes of the fitted MAP, or both",
    )
    window: Tuples = Field(default=50_000, description="number of the last IATs that a MAP is fitted to")
    calm: bool = Field(default=False, description="change less often, for engines where a change costs something")

    reacts: ClassVar[bool] = True

    @property
    def kept_iats(self) -> int:
        """The window that a MAP is fitted to."""
        return max(KEPT_IATS, self.window)

    @property
    def changes_per_hour(self) -> float | None:
        """The changes that are allowed; None for any number."""
        return CALM_CHANGES_PER_HOUR if self.calm else None


class AdaptiveOptions(AdaptiveKeys):
    """MEAD's own policy: reads levels from backlogs every second.

    Its rules have prices that a look ahead chooses.
    """

    name: Literal["adaptive"] = "adaptive"


@dataclass(frozen=True, eq=False)
class Analysis:
    """The prices in force, the rules that they lead to, and the outlook under these."""

    setting: Setting
    rules: Mapping[str, Rule]
    """By operator."""
    outlook: Outlook
    held: Allocation
    """The allocation in force when the prices were chosen."""
    kept_mean_s: Mapping[str, float | None]
    """By path, the mean response time that is predicted if that allocation stays in force."""
    full: frozenset[str] = frozenset()
    """Operators that get their highest level, because every price misses a target."""

    @property
    def broken(self) -> tuple[Requirement, ...]:
        """The requirements that would be broken even with everything given, wherever it helps."""
        if not self.outlook.fullest:
            return ()
        return tuple(requirement for requirement, used in self.outlook.usage.items() if used > 1)


@register(AdaptiveOptions)
class Adaptive:
    """Chooses prices slowly and levels quickly, for a whole pipeline.

    A round goes through three stages: ``_book`` accounts for tuples that have left; ``_choose_prices``, if it is time,
    searches for the lowest prices that keep the targets over the recent arrivals; ``plan`` reads the level of every
    operator from its rule.
    """

    def __init__(self, options: AdaptiveKeys, knobs: Knobs | None = None) -> None:
        self.name = options.name
        self.options, self.interval_s = options, options.interval_s
        self.knobs: Knobs = knobs or OneKnob()
        self.error = ModelError(options.interval_s)
        self._rulebook = Rulebook(options.interval_s, self.knobs)
        self._futures = Futures(options.ahead, options.window)
        self._accounts: dict[Requirement, Account] = {}
        self._orders = Orders(options.interval_s)
        self._setting = Setting({})
        """The prices to start the next search from."""
        self._analysis: Analysis | None = None
        self._rate = 0.0
        """Tuples per period at the source, smoothed."""
        self._periods = 0
        self._first_s = max(FIRST_S, 2 * options.interval_s)  # how rates follow each other takes two periods to learn
        self._priced_s, self._due_s = 0.0, self._first_s

    def analyze(self, observation: Observation, knowledge: Knowledge) -> Analysis | NotReady:
        """Book what has happened, and choose the prices anew when it is time."""
        if unready := not_ready(observation, knowledge.pipeline):
            return unready
        self._book(observation, knowledge.pipeline)
        self._orders.notice(observation.time_s, observation.allocation, Delays.of(knowledge))
        # Arrivals are forgotten when their clock turns out to have been ahead. The rules learned from them still hold.
        learnable = observation.counts.size >= 2 * round(self.interval_s / COUNT_BIN_S)
        if learnable and (observation.time_s >= self._due_s or self._alarmed(observation)):
            early_s = max(FIRST_S / 2, observation.time_s / 2)  # while there is little history, it soon doubles
            self._due_s = observation.time_s + min(self.options.replan_s, early_s)
            self._analysis = self._choose_prices(observation, knowledge)
        return self._analysis or NotReady(Reason(Cause.TOO_FEW, (ShortHistory(self._first_s),)))

    def plan(self, observation: Observation, analysis: Analysis, knowledge: Knowledge) -> Plan:
        """The levels that the rules choose for the present backlogs and rate."""
        pipeline, now, rules = knowledge.pipeline, observation.allocation, analysis.rules
        pending = self._pending(observation, knowledge, rules)
        chosen, costs = {}, {}
        facts: list[Fact] = []
        for operator in pipeline.operators:
            name, rule, levels = operator.name, rules[operator.name], self.knobs.levels(operator)
            backlog = observation.operators[name].backlog
            rate = self._rate * pipeline.visits[name]
            work = backlog * operator.demand_s
            level = decide(rule, work, rate, np.array(pending[name]))
            chosen[name] = levels[level]
            if rule.cores.size > 1:
                last = pending[name][-1]
                compared, free = costs_at(rule, work, rate) + rule.change_costs[last], name not in analysis.full
                costs[name] = LevelCosts(levels, compared, level, free=free)
                facts.append(Backlog(name, backlog, rate / self.interval_s))
                facts += self.knobs.explain(name, rule, last, level, work, rate) if free else ()
        allocation = Allocation.of(chosen)
        self._orders.add(observation.time_s + observation.age_s, allocation)
        kept_mean_s = analysis.kept_mean_s if analysis.held == now else {}
        facts += self._outlook_facts(analysis, allocation, {} if allocation == now else kept_mean_s)
        cause = Cause.IMPOSSIBLE if analysis.broken else Cause.of(now, allocation)
        return Plan(
            allocation,
            allocation,
            Reason(cause, tuple(facts), Move(now, allocation)),
            analysis.outlook.predictions,
            Grounds(self._describe_prices(analysis), list_neighbours(allocation, costs), self.error.caution),
            kept_mean_s=kept_mean_s,
        )

    def _book(self, observation: Observation, pipeline: Pipeline) -> None:
        """Account for tuples that have left, and follow the rate."""
        for requirement in pipeline.requirements:
            account = self._accounts.setdefault(requirement, Account(requirement))
            account.add(observation.time_s, observation.paths[requirement.path])
        if set(self._setting.prices) != set(pipeline.requirements):
            self._setting = Setting(dict.fromkeys(pipeline.requirements, START))
        count = float(observation.counts[-round(self.interval_s / COUNT_BIN_S) :].sum())
        self._periods += 1
        self._rate += max(smoothing(self.interval_s), 1 / self._periods) * (count - self._rate)
        self.error.add(observation, pipeline.requirements)

    def _alarmed(self, observation: Observation) -> bool:
        """Whether the last seconds used so much of an allowance that new prices cannot wait."""
        now_s = observation.time_s
        if self._analysis is None or now_s < self._priced_s + SURPRISE_S:
            return False
        recent = [account.since(now_s - SURPRISE_S) for account in self._accounts.values()]
        return any(used > ALARMING * max(tuples, 1.0) for tuples, used in recent)

    def _choose_prices(self, observation: Observation, knowledge: Knowledge) -> Analysis:
        """The lowest prices at which every requirement keeps to its target."""
        self._priced_s = observation.time_s
        pipeline, before = knowledge.pipeline, self._analysis
        per_period = round(self.interval_s / COUNT_BIN_S)
        counts = observation.counts[observation.counts.size % per_period :]
        delay = self._delay(observation, knowledge)
        share_delay = self._in_periods(knowledge.shares_after_s + observation.age_s)
        self._rulebook.sooner = self.knobs.sooner(delay, share_delay)
        rules = before.rules if before else {}
        ignored_s = self._orders.ignored_s
        self.error.compare(rules, pipeline, counts, self._accounts, delay=delay, ignored_s=ignored_s)
        capacity = min(
            operator.most.cores * self.interval_s / operator.demand_s / pipeline.visits[operator.name]
            for operator in pipeline.operators
        )
        # Backlogs are predicted until a share acts. Spare replicas and prices make up for the time until replicas come.
        ahead = delay - self._rulebook.sooner
        model = learn(counts.reshape(-1, per_period).sum(axis=1), self.interval_s, most=capacity, delay=ahead)
        stays_s = before.outlook.operator_s if before else {}
        courses = self._futures.courses(observation, counts)
        search = PriceSearch(self._rulebook, pipeline, model, courses, delay, stays_s)
        targets = {r: self._target(r, observation, pipeline) for r in pipeline.requirements}
        found = search.cheapest(self._setting, targets)
        self._setting = self._calm(found.setting, found.outlook)
        held = observation.allocation
        kept = search.outlook_of_keeping(found.rules, levels_of(held, found.rules)).predictions
        kept_mean_s = {path: one.mean_s for path, one in kept.items()}
        return Analysis(found.setting, found.rules, found.outlook, held, kept_mean_s, found.full)

    def _calm(self, setting: Setting, outlook: Outlook) -> Setting:
        """Raise or lower the cost of changes for the next time, so that there are about as many as allowed."""
        allowed = self.options.changes_per_hour
        if allowed is None:
            return setting
        dearer = 3600 * outlook.changes_per_s > allowed
        cheaper = 3600 * outlook.changes_per_s < 0.8 * allowed
        place = setting.change_cost + dearer - cheaper
        return replace(setting, change_cost=min(max(place, 0), CHANGE_COSTS.size - 1))

    def _target(self, requirement: Requirement, observation: Observation, pipeline: Pipeline) -> float:
        """Units of the allowance per tuple that predictions may come to."""
        path = requirement.path.split(PATH_SEPARATOR)
        waiting = sum(observation.operators[name].backlog / pipeline.visits[name] for name in path)
        target = self._accounts[requirement].target(observation.time_s, waiting, self._rate / self.interval_s)
        return target / self.error.correction(requirement)

    def _delay(self, observation: Observation, knowledge: Knowledge) -> int:
        """Periods from the readings to the effect of an order."""
        return self._in_periods(knowledge.actuation_delay_s + observation.age_s)

    def _in_periods(self, delay_s: float) -> int:
        return ceil(delay_s / self.interval_s - 1e-9)

    def _pending(
        self, observation: Observation, knowledge: Knowledge, rules: Mapping[str, Rule]
    ) -> dict[str, list[int]]:
        """The levels in force from the readings on until a new order acts, and the last one ordered."""
        delay = self._delay(observation, knowledge)
        seen, delays = observation.allocation, Delays.of(knowledge)
        times_s = [observation.time_s + d * self.interval_s for d in range(delay)]
        pending = [self._orders.in_force(time_s, seen, delays) for time_s in times_s]
        pending.append(self._orders.last(seen) if delay else seen)
        by_period = [levels_of(allocation, rules) for allocation in pending]
        return {name: [at[name] for at in by_period] for name in rules}

    def _outlook_facts(
        self, analysis: Analysis, chosen: Allocation, kept_mean_s: Mapping[str, float | None]
    ) -> list[Fact]:
        """The numbers behind the rules."""
        facts: list[Fact] = [
            Unchanged(r, kept_mean_s[r.path])
            for r in analysis.outlook.usage
            if r.percent is None and r.path in kept_mean_s
        ]
        if analysis.broken:
            return [*facts, OutOfReach(chosen, analysis.broken)]
        facts.append(Allowances(tuple(analysis.outlook.usage.items()), analysis.outlook.cores))
        return [*facts, Exceeded(self.error.caution)] if self.error.caution > 1 else facts

    def _describe_prices(self, analysis: Analysis) -> tuple[str, ...]:
        """The prices, and the use of the allowances that is expected under them."""
        return tuple(
            f"{r}: price {PRICES[analysis.setting.prices[r]]:.3g} of the cores that its path needs, {used:.0%} of the "
            f"allowance predicted to be used; observed use was {self.error.ratios.get(r, 1.0):.2f} times the predicted"
            for r, used in analysis.outlook.usage.items()
        )
