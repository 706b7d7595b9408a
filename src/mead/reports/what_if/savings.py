"""The cores that a policy would have saved in a run in which it did not act.

In mode advise, the savings follow from its plans: the cores that it planned, and the response times that it predicted
for them. In mode observe there are no plans. There the policy controls the recorded arrivals in virtual time, with the
demands and overheads that the run learned.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from mead.workload import Trace

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


def plan_savings(frames: Sequence[Frame], pipeline: Pipeline) -> Savings | None:
    """Savings by the plans of a run in mode advise; None without plans, or if the cores in force are unknown."""
    planned = [(frame, lasted_s) for frame, lasted_s in _with_durations(frames) if frame.kind not in WITHOUT_PLAN]
    if sum(lasted_s for _, lasted_s in planned) <= 0:
        return None
    in_force = _time_average((frame.cores, lasted_s) for frame, lasted_s in planned)
    instead = _time_average((_planned_cores(frame), lasted_s) for frame, lasted_s in planned)
    if in_force is None or instead is None:
        return None
    predicted_s = {}
    for requirement in pipeline.requirements:
        key = {None: "predicted_mean_s", 95.0: "predicted_p95_s"}.get(requirement.percent)
        predicted_s[str(requirement)] = _time_average(
            (getattr(frame.paths[requirement.path], key) if key else None, lasted_s) for frame, lasted_s in planned
        )
    errors = {path: model_error(frames, path) for path in dict.fromkeys(r.path for r in pipeline.requirements)}
    return Savings(
        in_force,
        instead,
        predicted_s,
        "by its plans and its predictions for them",
        {path: error for path, error in errors.items() if error is not None},
        max(frame.caution for frame, _ in planned),
    )


def simulated_savings(
    pipeline: Pipeline, options: PolicyOptions, iats_s: FloatArray, in_force: float
) -> Savings | None:
    """Savings of a policy that controls the recorded arrivals in virtual time; None if there were no arrivals."""
    from mead.simulator import run  # noqa: PLC0415 - attaching to a query must not load the simulator

    if iats_s.size == 0 or not iats_s.any():
        return None
    result = run(pipeline, Trace.from_iats_s(iats_s), options, seed=SEED)
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
        return plan_savings(board.since(0), pipeline)
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


def _time_average(values: Iterable[tuple[float | None, float]]) -> float | None:
    known = [(value, lasted_s) for value, lasted_s in values if value is not None]
    weight_s = sum(lasted_s for _, lasted_s in known)
    return sum(value * lasted_s for value, lasted_s in known) / weight_s if weight_s > 0 else None


def _with_durations(frames: Sequence[Frame]) -> Iterator[tuple[Frame, float]]:
    """Each round with the time until the next; the last one with the interval before it."""
    if frames:
        ends_s = [frame.time_s for frame in frames[1:]] + [frames[-1].time_s + (frames[-1].interval_s or 0.0)]
        yield from ((frame, end_s - frame.time_s) for frame, end_s in zip(frames, ends_s, strict=True))


def _planned_cores(frame: Frame) -> float | None:
    operators = frame.operators.values()
    if any(o.planned_share is None or o.planned_replicas is None for o in operators):
        return None
    return sum((o.planned_share or 0.0) * (o.planned_replicas or 0) for o in operators)
