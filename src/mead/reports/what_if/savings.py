"""What a policy that only advised, or only observed, would have saved.

Advice is taken at its word: the cores that were planned, and the response times that were predicted for them. Where
nothing was planned, the policy is put in charge of the arrivals that were seen, in virtual time, with the demands that
were learned.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mead.arrays import FloatArray
from mead.policies import PolicyOptions
from mead.reports.judge import Figures, statistic_s
from mead.reports.live.frame import Frame, Kind
from mead.simulator import run
from mead.values import Pipeline
from mead.workload import Trace

SEED = 0
WOULD = "would be "
"""How the names of figures begin that tell what would have been."""

NOT_PLANNED = {Kind.OBSERVE, Kind.BLIND, Kind.FAILED}


@dataclass(frozen=True)
class Savings:
    """What was in force, beside what would have been. Time averages of the cores of all operators."""

    in_force: float
    instead: float
    predicted_s: Mapping[str, float | None]
    """By requirement in words, the mean or percentile that there would have been; None if it was not predicted."""
    foreseen: str
    """Where these figures come from."""
    model_error: Mapping[str, float] = field(default_factory=dict)
    """By path, observed over predicted mean response time of what was in force, less 1: how far to trust it. Empty if
    nothing was predicted for that."""
    caution: float = 1.0
    """The highest caution of the run: how many times tighter the bounds were taken."""

    @property
    def part(self) -> float:
        """The part of the cores in force that would have been saved; negative if the policy wanted more."""
        return 1 - self.instead / self.in_force if self.in_force > 0 else 0.0

    def __str__(self) -> str:
        times = "; ".join(
            f"{required}: {'not predicted' if value_s is None else f'{value_s:.3g} s'}"
            for required, value_s in self.predicted_s.items()
        )
        what = f"{self.part:.0%} saved" if self.part >= 0 else f"{-self.part:.0%} more than there were"
        return (
            f"What it would have been in mode act: {self.instead:.2f} cores instead of {self.in_force:.2f} in the "
            f"mean, {what} ({self.foreseen}). {times}".rstrip()
            + self._checked
        )

    @property
    def _checked(self) -> str:
        """A sentence on what the same model said of what was in force, if it said anything."""
        if not self.model_error:
            return ""
        off = ", ".join(f"{path} {error:+.0%}" for path, error in self.model_error.items())
        careful = f"; bounds were taken up to {self.caution:.2g} times tighter for that" if self.caution > 1 else ""
        return f". Model error, of what was in force: {off}{careful}."

    def as_json(self) -> dict[str, Any]:
        """As a document for scripts."""
        return {
            "cores_in_force": self.in_force,
            "cores_instead": self.instead,
            "saved": self.part,
            "predicted_s": dict(self.predicted_s),
            "basis": self.foreseen,
            "model_error": dict(self.model_error),
            "caution": self.caution,
        }


def advised(frames: Sequence[Frame], pipeline: Pipeline, model_error: Mapping[str, float]) -> Savings | None:
    """From the plans of a run that nobody followed; None if there are none, or what was in force is unknown.

    ``model_error`` is that of the whole run, by path.
    """
    held = [(frame, lasted_s) for frame, lasted_s in _lasting(frames) if frame.kind not in NOT_PLANNED]
    duration_s = sum(lasted_s for _, lasted_s in held)
    if duration_s <= 0:
        return None

    def mean(values: Iterator[tuple[float | None, float]]) -> float | None:
        known = [(value, lasted_s) for value, lasted_s in values if value is not None]
        weight_s = sum(lasted_s for _, lasted_s in known)
        return sum(value * lasted_s for value, lasted_s in known) / weight_s if weight_s > 0 else None

    predicted_s = {}
    for asked in pipeline.requirements:
        key = {None: "predicted_mean_s", 95.0: "predicted_p95_s"}.get(asked.percent)
        of_path = ((getattr(frame.paths[asked.path], key) if key else None, lasted_s) for frame, lasted_s in held)
        predicted_s[str(asked)] = mean(of_path)
    in_force = mean((frame.cores, lasted_s) for frame, lasted_s in held)
    instead = mean((_planned(frame), lasted_s) for frame, lasted_s in held)
    if in_force is None or instead is None:
        return None
    asked_of = {r.path for r in pipeline.requirements}
    return Savings(
        in_force,
        instead,
        predicted_s,
        "by its plans, and as it predicted for them",
        {path: error for path, error in model_error.items() if path in asked_of},
        max(frame.caution for frame, _ in held),
    )


def in_charge(pipeline: Pipeline, options: PolicyOptions, iats_s: FloatArray, in_force: float) -> Savings | None:
    """From a run on the recorded arrivals in virtual time; None if there were no arrivals."""
    if iats_s.size == 0 or not iats_s.any():
        return None
    result = run(pipeline, Trace.from_iats_s(iats_s), options, seed=SEED)
    responses = {r: result.simulation.responses(r.path).response_s for r in pipeline.requirements}
    return Savings(
        in_force,
        sum(result.simulation.timeline.mean_cores(o.name, result.duration_s) for o in pipeline.operators),
        {str(asked): statistic_s(response_s, asked) for asked, response_s in responses.items()},
        f"{options.name} in charge of the last {result.duration_s:.0f} s of arrivals, in virtual time",
    )


def figures_of(savings: Savings | None) -> Figures:
    """The figures that a history keeps for a run that was only observed."""
    if savings is None:
        return {}
    times_s = {f"{WOULD}{asked}": value_s for asked, value_s in savings.predicted_s.items()}
    return {"": {f"{WOULD}cores": savings.instead, **times_s}}


def observed(figures: Mapping[str, Mapping[str, float]], in_force: float, pipeline: Pipeline) -> Savings | None:
    """From the figures in a history."""
    of_run = figures.get("", {})
    if f"{WOULD}cores" not in of_run:
        return None
    times_s = {str(asked): of_run.get(f"{WOULD}{asked}") for asked in pipeline.requirements}
    return Savings(in_force, of_run[f"{WOULD}cores"], times_s, "the policy in charge of what was seen, in virtual time")


def _lasting(frames: Sequence[Frame]) -> Iterator[tuple[Frame, float]]:
    """Every round with the time for which its decision was the latest; the last one gets that of the one before."""
    if frames:
        ends_s = [frame.time_s for frame in frames[1:]] + [frames[-1].time_s + (frames[-1].interval_s or 0.0)]
        yield from ((frame, end_s - frame.time_s) for frame, end_s in zip(frames, ends_s, strict=True))


def _planned(frame: Frame) -> float | None:
    """The cores of the plan."""
    operators = frame.operators.values()
    if any(o.planned_share is None or o.planned_replicas is None for o in operators):
        return None
    return sum((o.planned_share or 0.0) * (o.planned_replicas or 0) for o in operators)
