"""The explanation of a decision: its readings, models and candidates, and its effects."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rich.table import Table
from rich.text import Text

from mead.history import Decision, Effect, History, HistoryError, PastRound, PastRun
from mead.reports.documents import allocation_json, decision_json, run_json
from mead.reports.runs.history_report import describe
from mead.reports.tables import NOTHING, TimeUnit, number, plain_table, plain_text
from mead.values import Allocation, Candidate, Grounds, Requirement

BETWEEN = 10
"""Rounds that may be recorded between two queries of a history."""

SAME = 1e-9
"""Differences in cores below this are none."""

NOT_CONSIDERED = "not considered: a bound is missed at any cost, so the operator gets all"
UNKNOWN = "The history has no candidates: the policy compares none, or the file is from an older version."


@dataclass(frozen=True)
class RankedCandidate:
    """A candidate, and why it was chosen or rejected."""

    candidate: Candidate
    verdict: str
    """"chosen", or the reason for its rejection."""
    margin: float | None
    """Predicted margin to the strictest bound, as a fraction of it; negative if broken. None if not predicted."""


@dataclass(frozen=True)
class Explanation:
    """One decision with everything that the history has about it."""

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
    def candidates(self) -> tuple[RankedCandidate, ...]:
        """The candidates, the cheapest first, each with its verdict."""
        wanted = self.decision.target or self.decision.after
        return tuple(
            RankedCandidate(one, self._full_verdict(one, wanted), _margin(one, self.run.pipeline.requirements))
            for one in self.grounds.candidates
        )

    def _full_verdict(self, one: Candidate, wanted: Allocation | None) -> str:
        verdict = "" if wanted is None else self._verdict(one, wanted)
        return f"{verdict}; was in force" if one.allocation == self.decision.before else verdict

    def _verdict(self, one: Candidate, wanted: Allocation) -> str:
        if one.allocation == wanted:
            limited = self.decision.after is not None and self.decision.after != wanted
            return "wanted; the planning rules allow less" if limited else "chosen"
        if one.allocation == self.decision.after:
            return "chosen: the closest to the wanted one that the planning rules allow"
        if by_cost := _verdict_by_cost(one):
            return by_cost
        if broken := self._broken(one, 1.0):
            return f"breaks {', '.join(broken)}"
        if broken := self._broken(one, self.grounds.caution):
            return f"would break {', '.join(broken)} with bounds {self.grounds.caution:.2g} times tighter"
        pipeline = self.run.pipeline
        return _dearer(pipeline.cost(one.allocation) - pipeline.cost(wanted), "" if pipeline.priced else " cores")

    def _broken(self, one: Candidate, caution: float) -> list[str]:
        """The requirements that a candidate was predicted to break with bounds ``caution`` times tighter."""
        required = zip(self.run.pipeline.requirements, one.response_s, strict=False)
        return [
            f"{r.statistic} of {r.path}{' (overloaded)' if value_s is None else ''}"
            for r, value_s in required
            if value_s is None or value_s > r.bound_s / caution
        ]

    def as_json(self) -> dict[str, Any]:
        """The document of `mead explain --json`."""
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
                    "cost": self.run.pipeline.cost(one.candidate.allocation),
                    "predicted_s": dict(zip(requirements, one.candidate.response_s, strict=False)),
                    "extra_cost": one.candidate.extra_cost,
                    "margin": one.margin,
                    "verdict": one.verdict,
                }
                for one in self.candidates
            ],
            "effects": {
                effect.path: {"times_predicted": effect.times, "surprising": effect.surprising}
                for effect in self.decision.effects
            },
        }


def find_round(history: History, run: PastRun, text: str) -> int:
    """The number of a round from the command line: a number, ``last``, or ``change`` for the last change."""
    if text == "last":
        return run.rounds
    if text == "change":
        changes = history.decisions(run.number, changes_only=True, limit=1)
        if not changes:
            raise HistoryError(f"{history.path}: run {run.number} changed nothing")
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


def _verdict_by_cost(one: Candidate) -> str:
    """Why a policy that compares costs rejected a candidate; empty for other policies."""
    if not one.considered:
        return NOT_CONSIDERED
    if one.extra_cost is None:
        return ""
    sooner = "cheaper now, but not when it takes effect"
    return f"costs {number(one.extra_cost)} core-seconds more" if one.extra_cost >= 0 else sooner


def _dearer(more: float, unit: str) -> str:
    """Why a candidate was rejected that was predicted to meet every bound."""
    if abs(more) <= SAME:
        return "equally good"
    if more > 0:
        return f"meets all bounds, but costs {number(more)}{unit} more"
    return f"meets all bounds with {number(-more)}{unit} less; the search missed it"


def explanation_tables(this: Explanation) -> Iterator[Table | Text]:
    """Tables for a terminal of 80 columns."""
    yield _headline(this)
    if this.seen.operators:
        yield _observation(this)
    if this.grounds.models:
        yield plain_text("Models:\n" + "\n".join(f"  {model}" for model in this.grounds.models))
    if this.grounds.caution > 1:
        said = f"Recent predictions were too low: the bounds were taken {this.grounds.caution:.2g} times tighter."
        yield Text(said, style="yellow")
    if this.grounds.candidates:
        yield _candidates(this)
    elif this.decision.reason:
        yield Text(UNKNOWN)
    yield _effects(this)


def _headline(this: Explanation) -> Text:
    decision, run = this.decision, this.run
    where = f"run {run.number}, {run.name} under {run.policy}"
    said = plain_text(f"Round {decision.round} of {where}, at {round(decision.time_s, 1):.10g} s\n")
    return said.append_text(describe(decision))


def _observation(this: Explanation) -> Table:
    seen, before = this.seen, this.decision.before
    interval_s = seen.interval_s or 0.0
    rate = "" if seen.rate_per_s is None else f": {number(seen.rate_per_s)} tuples/s arrived"
    title = f"Observed in {number(interval_s)} s{rate}"
    table = plain_table(title, "operator", "tuples/s", "waiting", "had cores", "busy")
    for name, reading in seen.operators.items():
        cores = None if before is None else before[name].cores
        average = cores if seen.merged is None else seen.merged.cores(name)
        busy = reading.busy_s / interval_s / average if interval_s > 0 and average else None
        table.add_row(
            plain_text(name),
            number(reading.arrived / interval_s) if interval_s > 0 else NOTHING,
            f"{reading.backlog:,}",
            NOTHING if before is None else str(before[name]),
            NOTHING if busy is None else f"{busy:.0%}",
        )
    return table


def _candidates(this: Explanation) -> Table:
    candidates = this.grounds.candidates
    shown = this.run.pipeline.requirements if any(one.response_s for one in candidates) else ()
    unit = TimeUnit.of(value_s for one in candidates for value_s in one.response_s if value_s is not None)
    of = f"; predicted in {unit.name}" if shown else ""
    headings = [plain_text(f"{r.statistic} of {r.path}\nrequired {unit.show(r.bound_s)}") for r in shown]
    table = plain_table(f"Candidates, the cheapest first{of}", "allocation", "cores", *headings, "")
    table.columns[-1].justify = "left"
    for one in this.candidates:
        taken = one.verdict.startswith(("chosen", "wanted"))
        left = _left(one.margin) if taken else ""
        values_s = one.candidate.response_s if shown else ()
        table.add_row(
            plain_text(str(one.candidate.allocation)),
            f"{one.candidate.allocation.cores:.2f}",
            *("overloaded" if value_s is None else unit.show(value_s) for value_s in values_s),
            plain_text(one.verdict + left),
            style="bold" if taken else "",
        )
    return table


def _effects(this: Explanation) -> Table | Text:
    decision = this.decision
    if not decision.applied:
        return _meanwhile(decision)
    known = [value_s for effect in decision.effects for value_s in _means_s(effect) if value_s is not None]
    unit = TimeUnit.of(known)
    title = f"Effect: mean response time in {unit.name}"
    table = plain_table(title, "path", "predicted", "observed", "times", "tuples")
    for effect in decision.effects:
        times = NOTHING if effect.times is None else number(effect.times)
        table.add_row(
            plain_text(effect.path),
            *(NOTHING if value_s is None else unit.show(value_s) for value_s in _means_s(effect)),
            Text(f"{times} (far off)", style="bold red") if effect.surprising else Text(times),
            f"{effect.completed:,}",
        )
    return table


def _meanwhile(decision: Decision) -> Table | Text:
    """For a plan that was not applied: the prediction for the allocation in force, beside the observation."""
    checked = {effect.path: effect.in_force for effect in decision.effects if effect.in_force.times is not None}
    if not checked:
        return Text("The plan was not applied and had no effect.")
    values_s = [value_s for one in checked.values() for value_s in (one.predicted_mean_s, one.mean_s)]
    unit = TimeUnit.of(value_s for value_s in values_s if value_s is not None)
    title = f"The plan was not applied. Mean response time of the allocation in force in {unit.name}"
    table = plain_table(title, "path", "predicted", "observed", "times")
    for path, one in checked.items():
        times_s = (one.predicted_mean_s or 0.0, one.mean_s or 0.0)  # both are known here
        table.add_row(plain_text(path), *map(unit.show, times_s), number(one.times or 0.0))
    return table


def _means_s(effect: Effect) -> tuple[float | None, float | None]:
    return None if effect.predicted is None else effect.predicted.mean_s, effect.mean_s


def _left(margin: float | None) -> str:
    if margin is None:
        return ""
    return f", {margin:.0%} of the bound to spare" if margin >= 0 else f", {-margin:.0%} beyond the bound"
