"""Search for the lowest prices at which the closed loop keeps every target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from mead.arrays import FloatArray
from mead.policies.adaptive.kernel import Rule
from mead.policies.adaptive.lookahead import Outlook, State, look_ahead, only
from mead.policies.adaptive.pricing import PRICES, Rulebook, Setting
from mead.policies.adaptive.rates import RateModel
from mead.queueing import PATH_SEPARATOR
from mead.values import Pipeline, Requirement

SAVING = 0.02
"""Part that another number of spare replicas must save to be taken: other arrivals will come than those looked at."""

SLOW_PART = 0.05
"""An operator that takes less than this part of a path's response time is not what makes it slow."""


@dataclass(frozen=True, eq=False)
class Found:
    """A setting that was tried."""

    setting: Setting
    rules: dict[str, Rule]
    """By operator."""
    outlook: Outlook
    """The outlook under these rules."""
    full: frozenset[str] = frozenset()
    """Operators whose rule allows only the highest level, because every price misses a target."""


@dataclass
class PriceSearch:
    """Settings tried on the same arrivals, each once."""

    rulebook: Rulebook
    pipeline: Pipeline
    model: RateModel
    courses: list[FloatArray] = field(repr=False)
    """Courses of arrivals, in bins, to look ahead through; the worst counts."""
    delay: int
    """Periods from a decision to its effect."""
    stays_s: Mapping[str, float]
    """How long tuples stay at every operator, as far as is known."""
    _rules: dict[tuple[int, ...], dict[str, Rule]] = field(default_factory=dict, repr=False)
    _tried: dict[tuple[int, ...], Found] = field(default_factory=dict, repr=False)

    def cheapest(self, setting: Setting, targets: Mapping[Requirement, float]) -> Found:
        """The prices, and the number of spare replicas, that keep every target with the fewest cores.

        If the highest price misses a target with any number of them, the slow operators get all, if that helps.
        """
        most = self._most_spare(setting)
        found = self._priced(replace(setting, spare=min(setting.spare, most)), targets)
        for step in (+1, -1):
            tried = found
            while 0 <= (spare := tried.setting.spare + step) <= most:
                tried = self._priced(replace(tried.setting, spare=spare), targets)
                if _saves(tried.outlook, found.outlook, targets):
                    found = tried
                elif _saves(found.outlook, tried.outlook, targets):
                    break
        missed = [r for r, target in targets.items() if found.outlook.usage[r] > target]
        if missed:
            full = frozenset(_slow(missed, found.outlook))
            highest = {name: only(found.rules[name], found.rules[name].cores.size - 1) for name in full}
            rules = {**found.rules, **highest}
            outlook = self._outlook(rules, fullest=True)
            if all(outlook.usage[r] <= found.outlook.usage[r] for r in missed):
                return Found(found.setting, rules, outlook, full)
        return found

    def outlook_of_keeping(self, rules: Mapping[str, Rule], held: Mapping[str, int]) -> Outlook:
        """The outlook over the same arrivals if every operator keeps its level."""
        return self._outlook({name: only(rule, held[name]) for name, rule in rules.items()}, held)

    def _most_spare(self, setting: Setting) -> int:
        """The most spare replicas to try. Where replicas come as soon as shares, it never pays to hold any."""
        if self.rulebook.sooner == 0:
            return 0
        return int(max(rule.replicas[-1] - rule.ready for rule in self._ruled(setting).values()))

    def _ruled(self, setting: Setting) -> dict[str, Rule]:
        priced = (*setting.prices.values(), setting.change_cost)
        if priced not in self._rules:
            self._rules[priced] = self.rulebook.rules(self.pipeline, self.model, setting, self.stays_s)
        return self._rules[priced]

    def _priced(self, setting: Setting, targets: Mapping[Requirement, float]) -> Found:
        """Raise the price of each requirement until it keeps its target, then lower each as long as none is broken."""
        found = self._at(setting)
        for requirement, target in targets.items():
            while found.outlook.usage[requirement] > target and (dearer := self._next(found.setting, requirement, +1)):
                found = dearer
        # The price of one requirement may be what keeps another.
        kept = {r: target for r, target in targets.items() if found.outlook.usage[r] <= target}
        for requirement in kept:
            while (cheaper := self._next(found.setting, requirement, -1)) and _keeps(cheaper.outlook, kept):
                found = cheaper
        return found

    def _next(self, setting: Setting, requirement: Requirement, step: int) -> Found | None:
        place = setting.prices[requirement] + step
        if not 0 <= place < PRICES.size:
            return None
        return self._at(replace(setting, prices={**setting.prices, requirement: place}))

    def _at(self, setting: Setting) -> Found:
        key = (*setting.prices.values(), setting.change_cost, setting.spare)
        if key not in self._tried:
            rules = {name: _with_spare(rule, setting.spare) for name, rule in self._ruled(setting).items()}
            self._tried[key] = Found(setting, rules, self._outlook(rules))
        return self._tried[key]

    def _outlook(
        self, rules: dict[str, Rule], held: Mapping[str, int] | None = None, *, fullest: bool = False
    ) -> Outlook:
        """The worst over all courses, from empty queues and from the levels ``held``, or the highest ones."""
        first = held or {name: rule.cores.size - 1 for name, rule in rules.items()}
        pending = {name: [first[name]] * (self.delay + 1) for name in rules}
        start = State(dict.fromkeys(rules, 0.0), pending)
        seen = [look_ahead(self.pipeline, rules, counts, start, fullest=fullest) for counts in self.courses]
        worst = max(seen, key=lambda outlook: max(outlook.usage.values(), default=0.0))
        return replace(worst, usage={r: max(one.usage[r] for one in seen) for r in self.pipeline.requirements})


def _keeps(outlook: Outlook, targets: Mapping[Requirement, float]) -> bool:
    return all(outlook.usage[requirement] <= target for requirement, target in targets.items())


def _saves(outlook: Outlook, other: Outlook, targets: Mapping[Requirement, float]) -> bool:
    """Whether an outlook is better than another.

    It keeps the targets at clearly less cost, or comes nearer where neither keeps them.
    """
    excess, others = (max((one.usage[r] / t for r, t in targets.items()), default=0.0) for one in (outlook, other))
    if min(excess, others) > 1:
        return excess < (1 - SAVING) * others
    return excess <= 1 and (others > 1 or outlook.cores < (1 - SAVING) * other.cores)


def _with_spare(rule: Rule, spare: int) -> Rule:
    """The rule with ``spare`` more replicas held ready, up to the most that there may be."""
    return rule._replace(ready=min(rule.ready + spare, float(rule.replicas[-1])))


def _slow(missed: list[Requirement], outlook: Outlook) -> set[str]:
    """The operators at which the tuples of a path spend their time: to give more to the others would be wasted."""
    slow = set()
    for requirement in missed:
        stays_s = {name: outlook.operator_s[name] for name in requirement.path.split(PATH_SEPARATOR)}
        slow |= {name for name, stay_s in stays_s.items() if stay_s >= SLOW_PART * sum(stays_s.values())}
    return slow
