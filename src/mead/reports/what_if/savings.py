"""The cores that a policy would have saved in a run in which it did not act.

In mode advise, the savings follow from its plans: the cores that it planned, and the response times that it predicted
for them. In mode observe there are no plans. There the policy controls the recorded arrivals in virtual time, with the
demands and overheads that the run learned.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from mead.arrays import FloatArray
from mead.loop import Mode
from mead.policies import PolicyOptions
from mead.reports.frames import Frame, Kind
from mead.reports.judge import Figures, statistic_s
from mead.reports.live.board import Board
from mead.reports.live.decisions import model_error
from mead.session import Session
from mead.values import Pipeline
from mead.workload import Trace, TraceError

SEED = 0
WOULD = "would be "
"""Prefix of the figures in a history that describe what would have been."""

WITHOUT_PLAN = {Kind.OBSERVE, Kind.BLIND, Kind.FAILED}


@dataclass(frozen=True)
class Savings:
    """The cores in force beside those of the policy: time averages over all operators together."""

    in_force: float
    instead: float
    predicted_s: Mapping[str, float | None]
    """By requirement in words, the mean or percentile under the policy; None if it was not predicted."""
    basis: str
    """Where the figures come from."""
    model_error: Mapping[str, float] = field(default_factory=dict)
    """By path, observed over predicted mean response time of the allocation in force, less 1. Empty if the policy
    predicted nothing for that allocation."""
    caution: float = 1.0
    """The highest caution of the run: how many times tighter the policy took the bounds."""

    @property
    def part(self) -> float:
        """Fraction of the cores in force that would have been saved; negative if the policy wanted more."""
        return 1 - self.instead / self.in_force if self.in_force > 0 else 0.0

    def __str__(self) -> str:
        times = "; ".join(
            f"{required}: {'not predicted' if value_s is None else f'{value_s:.3g} s'}"
            for required, value_s in self.predicted_s.items()
        )
        change = f"{self.part:.0%} saved" if self.part >= 0 else f"{-self.part:.0%} more"
        return (
            f"In mode act: {self.instead:.2f} cores instead of {self.in_force:.2f} on average, "
            f"{change} ({self.basis}). {times}".rstrip()
            + self._model_error_note
        )

    @property
    def _model_error_note(self) -> str:
        if not self.model_error:
            return ""
        errors = ", ".join(f"{path} {error:+.0%}" for path, error in self.model_error.items())
        tighter = f"; the bounds were taken up to {self.caution:.2g} times tighter" if self.caution > 1 else ""
        return f". Model error for the allocation in force: {errors}{tighter}."

    def as_json(self) -> dict[str, Any]:
        """As a document for scripts."""
        return {
            "cores_in_force": self.in_force,
            "cores_instead": self.instead,
            "saved": self.part,
            "predicted_s": dict(self.predicted_s),
            "basis": self.basis,
            "model_error": dict(self.model_error),
            "caution": self.caution,
        }


def plan_savings(frames: Iterable[Frame], pipeline: Pipeline, errors: Mapping[str, float]) -> Savings | None:
    """Savings by the plans of a run in mode advise; None without plans, or if the cores in force are unknown.

    ``errors`` are the model errors by path, as far as they are known.
    """
    in_force, instead, caution = _Average(), _Average(), 1.0
    predicted = {requirement: _Average() for requirement in pipeline.requirements}
    for frame, lasted_s in _with_durations(frames):
        if frame.kind in WITHOUT_PLAN:
            continue
        in_force.add(_cores_in_force(frame), lasted_s)
        instead.add(_planned_cores(frame), lasted_s)
        caution = max(caution, frame.caution)
        for requirement, average in predicted.items():
            key = {None: "predicted_mean_s", 95.0: "predicted_p95_s"}.get(requirement.percent)
            average.add(getattr(frame.paths[requirement.path], key) if key else None, lasted_s)
    if in_force.value is None or instead.value is None:
        return None
    return Savings(
        in_force.value,
        instead.value,
        {str(requirement): average.value for requirement, average in predicted.items()},
        "by its plans and its predictions for them",
        {r.path: errors[r.path] for r in pipeline.requirements if r.path in errors},
        caution,
    )


def simulated_savings(
    pipeline: Pipeline, options: PolicyOptions, iats_s: FloatArray, in_force: float
) -> Savings | None:
    """Savings of a policy on the recorded arrivals, in virtual time.

    None if they cannot be simulated.
    """
    from mead.simulator import run  # noqa: PLC0415 - attaching to a query must not load the simulator

    if iats_s.size == 0 or not iats_s.any():
        return None
    try:
        result = run(pipeline, Trace.from_iats_s(iats_s), options, seed=SEED)
    except TraceError:  # months with few arrivals: too many rounds to simulate
        return None
    responses = {r: result.simulation.responses(r.path).response_s for r in pipeline.requirements}
    return Savings(
        in_force,
        sum(result.simulation.timeline.mean_cores(o.name, result.duration_s) for o in pipeline.operators),
        {str(requirement): statistic_s(response_s, requirement) for requirement, response_s in responses.items()},
        f"{options.name} in control of the last {result.duration_s:.0f} s of arrivals, in virtual time",
    )


def session_savings(session: Session) -> Savings | None:
    """The savings of a session up to its last round; None in mode act, and before the first usable round.

    In mode advise they follow from the plans. In mode observe the policy controls the latest arrivals in virtual time,
    which may take seconds.
    """
    rounds, pipeline = list(session.record.last), session.facts.pipeline
    if session.mode is Mode.ADVISE:
        board = Board(session.facts, wall_s=time.time)
        for this in rounds:
            board.add(this)
        frames = board.since(0)
        errors = {path: model_error(frames, path) for path in pipeline.paths}
        return plan_savings(frames, pipeline, {path: error for path, error in errors.items() if error is not None})
    if session.mode is Mode.ACT or session.options is None or not rounds:
        return None
    ended_s = rounds[-1].time_s
    in_force = sum(session.record.core_s(ended_s).values()) / ended_s
    return simulated_savings(session.learned, session.options, session.iats_s, in_force)


def savings_figures(savings: Savings | None) -> Figures:
    """The figures that a history keeps for a run in mode observe."""
    if savings is None:
        return {}
    times_s = {f"{WOULD}{required}": value_s for required, value_s in savings.predicted_s.items()}
    return {"": {f"{WOULD}cores": savings.instead, **times_s}}


def recorded_savings(figures: Mapping[str, Mapping[str, float]], in_force: float, pipeline: Pipeline) -> Savings | None:
    """Savings from the figures in a history; None if it has none."""
    of_run = figures.get("", {})
    if f"{WOULD}cores" not in of_run:
        return None
    times_s = {str(requirement): of_run.get(f"{WOULD}{requirement}") for requirement in pipeline.requirements}
    basis = "the policy in control of the recorded arrivals, in virtual time"
    return Savings(in_force, of_run[f"{WOULD}cores"], times_s, basis)


class _Average:
    """A time average of the known values."""

    def __init__(self) -> None:
        self._sum = self._weight_s = 0.0

    def add(self, value: float | None, lasted_s: float) -> None:
        if value is not None:
            self._sum += value * lasted_s
            self._weight_s += lasted_s

    @property
    def value(self) -> float | None:
        return self._sum / self._weight_s if self._weight_s > 0 else None


def _with_durations(frames: Iterable[Frame]) -> Iterator[tuple[Frame, float]]:
    """Each round with the time until the next; the last one with the interval before it."""
    before: Frame | None = None
    for frame in frames:
        if before is not None:
            yield before, frame.time_s - before.time_s if before.merged is None else before.merged.lasted_s
        before = frame
    if before is not None:
        yield before, before.interval_s or 0.0


def _cores_in_force(frame: Frame) -> float | None:
    merged = frame.merged
    if frame.cores is None or merged is None or merged.lasted_s <= 0:
        return frame.cores
    return sum(merged.core_s.values()) / merged.lasted_s


def _planned_cores(frame: Frame) -> float | None:
    operators = frame.operators.values()
    if any(o.planned_share is None or o.planned_replicas is None for o in operators):
        return None
    if frame.merged is not None and frame.merged.lasted_s > 0:
        return sum(frame.merged.planned_core_s.values()) / frame.merged.lasted_s
    return sum((o.planned_share or 0.0) * (o.planned_replicas or 0) for o in operators)
