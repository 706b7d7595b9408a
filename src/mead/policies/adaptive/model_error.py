"""The error of the adaptive policy's predictions.

After an optimistic one, the policy plans with less of the allowance.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from mead.arrays import FloatArray
from mead.policies.adaptive.account import Account
from mead.policies.adaptive.kernel import Rule
from mead.policies.adaptive.lookahead import State, levels_of, look_ahead, only
from mead.values import COUNT_BIN_S, Allocation, Observation, Pipeline, Requirement

COMPARED_S = 120.0
"""Predictions are compared with observations over this time."""

WEIGHT = 0.15
"""The weight of the latest comparison."""

TOLERATED = 1.15
"""A prediction that was exceeded by less than this factor needs no correction."""


@dataclass(frozen=True)
class Moment:
    """The state of a pipeline at one time, from which a prediction starts."""

    time_s: float
    backlog: dict[str, float]
    allocation: Allocation


@dataclass
class ModelError:
    """Observed over predicted use of every requirement's allowance."""

    interval_s: float
    ratios: dict[Requirement, float] = field(default_factory=dict)
    """Smoothed over the last comparisons."""
    _past: deque[Moment] = field(default_factory=deque, repr=False)

    def add(self, observation: Observation, requirements: tuple[Requirement, ...]) -> None:
        """Remember the present state."""
        for requirement in requirements:
            self.ratios.setdefault(requirement, 1.0)
        backlog = {name: float(reading.backlog) for name, reading in observation.operators.items()}
        self._past.append(Moment(observation.time_s, backlog, observation.allocation))
        while self._past[0].time_s < observation.time_s - COMPARED_S - self.interval_s:
            self._past.popleft()

    def compare(
        self,
        rules: Mapping[str, Rule],
        pipeline: Pipeline,
        counts: FloatArray,
        accounts: Mapping[Requirement, Account],
        *,
        delay: int,
        ignored_s: float,
    ) -> None:
        """Compare the use that the rules should have led to in the last two minutes with the observed use.

        If orders were not followed (``ignored_s`` is the last time), the model is asked about the allocation in force,
        provided that it was the same all the time.
        """
        first, last = self._past[0], self._past[-1]
        obeyed = ignored_s < first.time_s
        if not obeyed and any(moment.allocation != first.allocation for moment in self._past):
            return
        periods = round((last.time_s - first.time_s) / self.interval_s)
        if not rules or periods * self.interval_s < COMPARED_S / 4:
            return
        bins = counts[-round(periods * self.interval_s / COUNT_BIN_S) :]
        held = levels_of(first.allocation, rules)
        start = State(first.backlog, {name: [level] * (delay + 1) for name, level in held.items()})
        followed = rules if obeyed else {name: only(rule, held[name]) for name, rule in rules.items()}
        predicted = look_ahead(pipeline, followed, bins, start).usage
        for requirement, account in accounts.items():
            tuples, used = account.since(first.time_s)
            # A tenth of the allowance on both sides: small numbers of late tuples say little.
            error = (used / max(tuples, 1.0) + 0.1) / (predicted[requirement] + 0.1)
            self.ratios[requirement] += WEIGHT * (min(max(error, 0.5), 4.0) - self.ratios[requirement])

    def correction(self, requirement: Requirement) -> float:
        """The factor by which predictions were exceeded; 1 if that is tolerated."""
        ratio = self.ratios.get(requirement, 1.0)
        return ratio if ratio > TOLERATED else 1.0

    @property
    def caution(self) -> float:
        """The largest correction."""
        return max((self.correction(requirement) for requirement in self.ratios), default=1.0)
