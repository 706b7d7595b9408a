"""Our own policy, with two clocks.

Every second, a rule sets each operator's level from its backlog and the present rate: the decision of a Markov
decision process in which CPU, changes and backlog have a price (``decision``). Every 15 seconds the price of the
backlog is chosen anew: the lowest at which the loop of rule and pipeline, closed over the recent arrivals, keeps
what is left of the requirement. What was predicted is compared with what came, and the difference is allowed for.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from math import ceil
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from mead.arrays import FloatArray
from mead.keys import Positive
from mead.policies.adaptive.account import Account
from mead.policies.adaptive.futures import Futures
from mead.policies.adaptive.kernel import Rule, costs_at, decide
from mead.policies.adaptive.knobs import Knobs, OneKnob
from mead.policies.adaptive.lookahead import Outlook, State, levels_of, look_ahead, only
from mead.policies.adaptive.orders import Delays, Orders
from mead.policies.adaptive.price_search import PriceSearch
from mead.policies.adaptive.pricing import CHANGE_COSTS, PRICES, Rulebook, Setting
from mead.policies.adaptive.rates import learn, smoothing
from mead.policies.base import KEPT_IATS, PolicyOptions, Tenths, Tuples
from mead.policies.predictive.candidates import Dearer, weighed_by_cost
from mead.policies.registry import register
from mead.policies.steps import kept, moved, unusable
from mead.queueing import PATH_SEPARATOR
from mead.values import (
    COUNT_BIN_S,
    Allocation,
    Because,
    Grounds,
    Knowledge,
    Observation,
    Pipeline,
    Plan,
    Prediction,
    Requirement,
)

FIRST_S = 10.0
"""Arrivals must be seen for this long before any level is changed."""

START = 6
"""The place of the first price: the search begins in the middle."""

CHECKED_S = 120.0
"""Predictions are compared with what came over this time."""

SURPRISE_S, ALARMING = 3.0, 2.0
"""If the tuples of the last ``SURPRISE_S`` have used ``ALARMING`` times their allowance, prices are chosen at once."""

TRUST = 0.15
"""The weight of the latest comparison of observed with predicted use."""

TOLERATED = 1.15
"""A prediction that was exceeded by less than this needs no correction."""


CALM_CHANGES_PER_HOUR = 500.0
"""About one change in seven seconds."""


class AdaptiveKeys(PolicyOptions):
    """What our own policies have in common."""

    interval_s: Tenths = Field(default=1.0, description="time between two looks at the backlog, s; a multiple of 0.1")
    replan_s: Positive = Field(default=15.0, description="time between two choices of the rule's prices, s")
    ahead: Literal["replay", "map", "both"] = Field(
        default="replay",
        description="what prices are tried on: the last ten minutes, ten minutes of the fitted MAP, or both",
    )
    window: Tuples = Field(default=50_000, description="how many of the last IATs a MAP is fitted to")
    calm: bool = Field(default=False, description="change less often, for engines where a change costs something")

    reacts: ClassVar[bool] = True

    @property
    def kept_iats(self) -> int:
        """The window that a MAP is fitted to."""
        return max(KEPT_IATS, self.window)

    @property
    def changes_per_hour(self) -> float | None:
        """How many changes there may be; None for as many as are of use."""
        return CALM_CHANGES_PER_HOUR if self.calm else None


class AdaptiveOptions(AdaptiveKeys):
    """Our own: a rule for the backlog every second, its prices chosen by looking ahead through the closed loop."""

    name: Literal["adaptive"] = "adaptive"


@dataclass(frozen=True)
class Moment:
    """What was seen at one time, for looking back."""

    time_s: float
    backlog: dict[str, float]
    allocation: Allocation


@register(AdaptiveOptions)
class Adaptive:
    """Prices and rules for a whole pipeline."""

    def __init__(self, options: AdaptiveKeys, knobs: Knobs | None = None) -> None:
        self.name = options.name
        self.options, self.interval_s = options, options.interval_s
        self.knobs: Knobs = knobs or OneKnob()
        self._rulebook = Rulebook(options.interval_s, self.knobs)
        self._futures = Futures(options.ahead, options.window)
        self._accounts: dict[Requirement, Account] = {}
        self.ratios: dict[Requirement, float] = {}
        """Observed over predicted use of the allowance, smoothed over the last comparisons."""
        self._setting = Setting({})
        self._rules: dict[str, Rule] = {}
        self._outlook: Outlook | None = None
        self._kept: tuple[Allocation | None, dict[str, float | None]] = (None, {})
        """An allocation, and by path the mean response time that is predicted if it stays in force."""
        self._rate = 0.0
        """Tuples per period at the source, smoothed."""
        self._periods = 0
        self._first_s = max(FIRST_S, 2 * options.interval_s)  # how rates follow each other takes two periods to learn
        self._planned_s, self._replan_s = 0.0, self._first_s
        self._past: deque[Moment] = deque()
        self._orders = Orders(options.interval_s)

    def analyze(self, observation: Observation, knowledge: Knowledge) -> str:
        """Book what has happened, and when it is time, choose the prices anew. Returns why nothing can be decided."""
        pipeline = knowledge.pipeline
        if unknown := unusable(observation, pipeline):
            return unknown
        self._book(observation, pipeline)
        self._orders.notice(observation.time_s, observation.allocation, self._delays(knowledge))
        # Arrivals are forgotten when their clock turns out to have been ahead. What was learned from them still holds.
        learnable = observation.counts.size >= 2 * round(self.interval_s / COUNT_BIN_S)
        if learnable and (observation.time_s >= self._replan_s or self._surprised(observation)):
            early_s = max(FIRST_S / 2, observation.time_s / 2)  # while there is little history, it soon doubles
            self._replan_s = observation.time_s + min(self.options.replan_s, early_s)
            self._replan(observation, knowledge)
        return "" if self._rules else f"less than {self._first_s:g} s of arrivals have been seen"

    def plan(self, observation: Observation, analysis: str, knowledge: Knowledge) -> Plan:
        """The levels that the rules choose for the present backlogs and rate."""
        if analysis:
            return kept(observation, knowledge.pipeline, analysis)
        pipeline, now = knowledge.pipeline, observation.allocation
        pending = self._pending(observation, knowledge)
        chosen, seen, weighed = {}, [], {}
        for operator in pipeline.operators:
            name, rule = operator.name, self._rules[operator.name]
            backlog = observation.operators[name].backlog
            rate = self._rate * pipeline.visits[name]
            work = backlog * operator.demand_s
            level = decide(rule, work, rate, np.array(pending[name]))
            chosen[name] = self.knobs.levels(operator)[level]
            if rule.cores.size > 1:
                costs = costs_at(rule, work, rate) + rule.change_costs[pending[name][-1]]
                weighed[name] = Dearer(self.knobs.levels(operator), costs, level)
                why = self.knobs.why(rule, pending[name][-1], level, work, rate)
                about = f"{name} has {backlog} tuples waiting and gets {rate / self.interval_s:.0f}/s"
                seen.append(f"{about} ({why})" if why else about)
        allocation = Allocation.of(chosen)
        self._orders.add(observation.time_s + observation.age_s, allocation)
        reason = f"{moved(now, allocation) or 'keep'}, because {', '.join(seen)}; {self._explained(allocation)}"
        grounds = Grounds(self._believed(), weighed_by_cost(allocation, weighed), self._caution)
        held, kept_mean_s = self._kept
        return Plan(
            allocation,
            allocation,
            reason,
            self._predictions(),
            grounds,
            kept_mean_s=kept_mean_s if held == now else {},
            because=Because.IMPOSSIBLE if self._impossible else Because.of(now, allocation),
        )

    def _surprised(self, observation: Observation) -> bool:
        """Whether the last seconds used so much of an allowance that new prices cannot wait."""
        now_s = observation.time_s
        if not self._rules or now_s < self._planned_s + SURPRISE_S:
            return False
        recent = [account.since(now_s - SURPRISE_S) for account in self._accounts.values()]
        return any(used > ALARMING * max(tuples, 1.0) for tuples, used in recent)

    def _book(self, observation: Observation, pipeline: Pipeline) -> None:
        now_s = observation.time_s
        for requirement in pipeline.requirements:
            account = self._accounts.setdefault(requirement, Account(requirement))
            account.add(now_s, observation.paths[requirement.path])
            self.ratios.setdefault(requirement, 1.0)
        if set(self._setting.prices) != set(pipeline.requirements):
            self._setting = Setting(dict.fromkeys(pipeline.requirements, START))
        count = float(observation.counts[-round(self.interval_s / COUNT_BIN_S) :].sum())
        self._periods += 1
        self._rate += max(smoothing(self.interval_s), 1 / self._periods) * (count - self._rate)
        backlog = {name: float(reading.backlog) for name, reading in observation.operators.items()}
        self._past.append(Moment(now_s, backlog, observation.allocation))
        while self._past[0].time_s < now_s - CHECKED_S - self.interval_s:
            self._past.popleft()

    def _replan(self, observation: Observation, knowledge: Knowledge) -> None:
        """The lowest prices at which every requirement keeps to its target."""
        self._planned_s = observation.time_s
        pipeline = knowledge.pipeline
        per_period = round(self.interval_s / COUNT_BIN_S)
        counts = observation.counts[observation.counts.size % per_period :]
        delay = self._delay(observation, knowledge)
        shares_s, age_s = self._delays(knowledge).share_s, observation.age_s
        self._rulebook.sooner = self.knobs.sooner(delay, self._in_periods(shares_s + age_s))
        self._check(observation, pipeline, counts, delay)
        capacity = min(
            operator.most.cores * self.interval_s / operator.demand_s / pipeline.visits[operator.name]
            for operator in pipeline.operators
        )
        # Backlogs are foreseen until a share acts. What replicas miss until they come, spare ones and prices make up.
        foreseen = delay - self._rulebook.sooner
        model = learn(counts.reshape(-1, per_period).sum(axis=1), self.interval_s, most=capacity, delay=foreseen)
        stays_s = self._outlook.operator_s if self._outlook else {}
        search = PriceSearch(
            self._rulebook, pipeline, model, self._futures.courses(observation, counts), delay, stays_s
        )
        targets = {r: self._target(r, observation, pipeline) for r in pipeline.requirements}
        found = search.cheapest(self._setting, targets)
        self._rules, self._outlook = found.rules, found.outlook
        self._setting = self._calmed(found.setting, found.outlook)
        held = observation.allocation
        kept = search.kept(self._rules, levels_of(held, self._rules)).predictions
        self._kept = held, {path: one.mean_s for path, one in kept.items()}

    def _calmed(self, setting: Setting, outlook: Outlook) -> Setting:
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
        return target / self._exceeded(requirement)

    def _exceeded(self, requirement: Requirement) -> float:
        """By how much predictions were exceeded lately, where that is more than can be tolerated; otherwise 1."""
        ratio = self.ratios.get(requirement, 1.0)
        return ratio if ratio > TOLERATED else 1.0

    @property
    def _caution(self) -> float:
        return max((self._exceeded(requirement) for requirement in self.ratios), default=1.0)

    def _believed(self) -> tuple[str, ...]:
        """What the prices are, and what is expected of them."""
        if self._outlook is None:
            return ()
        return tuple(
            f"{r}: price {PRICES[self._setting.prices[r]]:.3g} of the cores that its path needs, at which {used:.0%} "
            f"of the allowance is predicted to be used; what came was {self.ratios.get(r, 1.0):.2f} times the predicted"
            for r, used in self._outlook.usage.items()
        )

    def _check(self, observation: Observation, pipeline: Pipeline, counts: FloatArray, delay: int) -> None:
        """Compare what the rules should have made of the last two minutes with what was observed.

        If nobody followed the orders, the model is asked about the allocation that was in force instead, provided that
        it was the same all the time.
        """
        first, obeyed = self._past[0], self._orders.ignored_s < self._past[0].time_s
        if not obeyed and any(moment.allocation != first.allocation for moment in self._past):
            return
        periods = round((observation.time_s - first.time_s) / self.interval_s)
        if not self._rules or periods * self.interval_s < CHECKED_S / 4:
            return
        bins = counts[-round(periods * self.interval_s / COUNT_BIN_S) :]
        held = levels_of(first.allocation, self._rules)
        start = State(first.backlog, {name: [level] * (delay + 1) for name, level in held.items()})
        rules = self._rules if obeyed else {name: only(rule, held[name]) for name, rule in self._rules.items()}
        predicted = look_ahead(pipeline, rules, bins, start).usage
        for requirement, account in self._accounts.items():
            tuples, used = account.since(first.time_s)
            # A tenth of the allowance on both sides: small numbers of late tuples say little.
            error = (used / max(tuples, 1.0) + 0.1) / (predicted[requirement] + 0.1)
            self.ratios[requirement] += TRUST * (min(max(error, 0.5), 4.0) - self.ratios[requirement])

    def _delay(self, observation: Observation, knowledge: Knowledge) -> int:
        """Periods from the readings to the effect of an order."""
        return self._in_periods(knowledge.actuation_delay_s + observation.age_s)

    def _in_periods(self, delay_s: float) -> int:
        return ceil(delay_s / self.interval_s - 1e-9)

    def _delays(self, knowledge: Knowledge) -> Delays:
        """The delays of shares and replicas; ``knobs`` decide whether their difference is used."""
        return Delays(knowledge.shares_after_s, knowledge.actuation_delay_s)

    def _pending(self, observation: Observation, knowledge: Knowledge) -> dict[str, list[int]]:
        """The levels in force from the readings on until a new order acts, and the last one ordered."""
        delay = self._delay(observation, knowledge)
        seen, delays = observation.allocation, self._delays(knowledge)
        times_s = [observation.time_s + d * self.interval_s for d in range(delay)]
        pending = [self._orders.in_force(time_s, seen, delays) for time_s in times_s]
        pending.append(self._orders.last(seen) if delay else seen)
        by_period = [levels_of(allocation, self._rules) for allocation in pending]
        return {name: [at[name] for at in by_period] for name in self._rules}

    def _predictions(self) -> dict[str, Prediction]:
        return self._outlook.predictions if self._outlook else {}

    @property
    def _impossible(self) -> bool:
        """Whether a requirement would be broken even if everything were given."""
        outlook = self._outlook
        return outlook is not None and outlook.fullest and any(used > 1 for used in outlook.usage.values())

    def _explained(self, chosen: Allocation) -> str:
        """The numbers behind the rules."""
        if self._outlook is None:
            return ""
        if self._impossible:
            broken = [str(requirement) for requirement, used in self._outlook.usage.items() if used > 1]
            return f"NO ALLOCATION KEEPS {' and '.join(broken)} under arrivals such as the last; {chosen} comes closest"
        found = [f"{used:.0%} of the allowance of {r} used" for r, used in self._outlook.usage.items()]
        wary = f"; predictions were exceeded {self._caution:.2g}-fold lately, so that less is allowed"
        said = f"the rule would have had {' and '.join(found) or 'no requirement'} at {self._outlook.cores:.2f} cores"
        return said + (wary if self._caution > 1 else "")
