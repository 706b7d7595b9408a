"""How a decision was made: what was seen, believed and weighed, what was chosen, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mead.history import Decision, History, HistoryError, PastRound, PastRun
from mead.reports.runs.decision_json import allocation_json
from mead.reports.runs.history_report import decision_json, run_json
from mead.reports.tables import number
from mead.values import Allocation, Candidate, Grounds, Requirement

BETWEEN = 10
"""How many rounds may be recorded between two queries of a history."""

SAME = 1e-9
"""Numbers of cores that differ by less are equal."""


@dataclass(frozen=True)
class Weighed:
    """A candidate, and what became of it."""

    candidate: Candidate
    verdict: str
    """Chosen, or why not."""
    margin: float | None
    """The part of the strictest bound that was left by prediction; negative if it was broken. None if not predicted."""


@dataclass(frozen=True)
class Explanation:
    """Everything that a history knows of one decision."""

    run: PastRun
    decision: Decision
    seen: PastRound
    grounds: Grounds

    @classmethod
    def of(cls, history: History, run: PastRun, nth: int) -> Explanation:
        """The explanation of the round of that number."""
        grounds = history.grounds(run, nth)
        later = run.rounds - nth + BETWEEN
        decisions = {one.round: one for one in history.decisions(run.number, limit=later)}
        (seen,) = history.rounds(run.number, after=nth - 1, limit=1)
        return cls(run, decisions[nth], seen, grounds)

    @property
    def weighed(self) -> tuple[Weighed, ...]:
        """The candidates, the cheapest first, each with what spoke against it."""
        wanted = self.decision.target or self.decision.after
        return tuple(
            Weighed(one, self._told(one, wanted), _margin(one, self.run.pipeline.requirements))
            for one in self.grounds.candidates
        )

    def _told(self, one: Candidate, wanted: Allocation | None) -> str:
        verdict = "" if wanted is None else self._verdict(one, wanted)
        return f"{verdict}; was in force" if one.allocation == self.decision.before else verdict

    def _verdict(self, one: Candidate, wanted: Allocation) -> str:
        if one.allocation == wanted:
            limited = self.decision.after is not None and self.decision.after != wanted
            return "wanted; the planning rules allow less" if limited else "chosen"
        if one.allocation == self.decision.after:
            return "chosen, as near to what was wanted as the planning rules allow"
        if one.extra_cost is not None:
            sooner = "would be cheaper now, not when it acts"
            return f"costs {number(one.extra_cost)} core-seconds more" if one.extra_cost >= 0 else sooner
        if broken := self._broken(one, 1.0):
            return f"breaks {', '.join(broken)}"
        if broken := self._broken(one, self.grounds.caution):
            return f"would break {', '.join(broken)} with bounds {self.grounds.caution:.2g} times tighter"
        return _dearer(one.allocation.cores - wanted.cores)

    def _broken(self, one: Candidate, caution: float) -> list[str]:
        """The requirements that a candidate was predicted to break, with bounds ``caution`` times tighter."""
        required = zip(self.run.pipeline.requirements, one.response_s, strict=False)
        return [
            f"{r.statistic} of {r.path}{' (overloaded)' if value_s is None else ''}"
            for r, value_s in required
            if value_s is None or value_s > r.bound_s / caution
        ]

    def as_json(self) -> dict[str, Any]:
        """The document that is described in the reference of JSON documents."""
        seen = self.seen
        requirements = [str(requirement) for requirement in self.run.pipeline.requirements]
        return {
            "run": run_json(self.run),
            "decision": decision_json(self.decision),
            "observed": {
                "time_s": seen.observed_s,
                "interval_s": seen.interval_s,
                "rate_per_s": seen.rate_per_s,
                "operators": {
                    name: {"arrived": o.arrived, "completed": o.completed, "backlog": o.backlog, "busy_s": o.busy_s}
                    for name, o in seen.operators.items()
                },
                "paths": {
                    name: {"completed": p.completed, "mean_s": p.mean_s, "late": p.late}
                    for name, p in seen.paths.items()
                },
            },
            "models": list(self.grounds.models),
            "caution": self.grounds.caution,
            "candidates": [
                {
                    "allocation": allocation_json(one.candidate.allocation),
                    "cores": one.candidate.allocation.cores,
                    "predicted_s": dict(zip(requirements, one.candidate.response_s, strict=False)),
                    "extra_cost": one.candidate.extra_cost,
                    "margin": one.margin,
                    "verdict": one.verdict,
                }
                for one in self.weighed
            ],
            "effects": {
                effect.path: {"times_predicted": effect.times, "surprising": effect.surprising}
                for effect in self.decision.effects
            },
        }


def chosen_round(history: History, run: PastRun, text: str) -> int:
    """The round that a user means: its number, ``last``, or ``change`` for the last that changed something."""
    if text == "last":
        return run.rounds
    if text == "change":
        changes = history.decisions(run.number, changes_only=True, limit=1)
        if not changes:
            raise HistoryError(f"{history.path}: nothing was changed in run {run.number}")
        return changes[0].round
    if not (text.isascii() and text.isdigit()):
        raise HistoryError(
            f"a decision is the number of a round, `last`, or `change` for the last change; got {text!r}"
        )
    if not (len(text) < 16 and 1 <= int(text) <= run.rounds):
        raise HistoryError(f"{history.path}: run {run.number} has rounds 1 to {run.rounds}; got {text[:16]}")
    return int(text)


def _margin(one: Candidate, requirements: tuple[Requirement, ...]) -> float | None:
    """The margin of the bound that is closest to being broken."""
    if not one.response_s:
        return None
    left = [
        None if value_s is None else 1 - value_s / r.bound_s
        for r, value_s in zip(requirements, one.response_s, strict=False)
    ]
    return min((part for part in left if part is not None), default=None) if None not in left else None


def _dearer(more: float) -> str:
    """Why a candidate was not chosen that was predicted to keep every bound."""
    if abs(more) <= SAME:
        return "would do as well"
    if more > 0:
        return f"keeps all bounds, and costs {number(more)} cores more"
    return f"would do for {number(-more)} cores less; the search did not stop there"
