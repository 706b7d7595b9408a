"""The figures of a whole run, read from its history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from mead.history import History, PastRun
from mead.reports.documents import run_json
from mead.reports.frames import Frame, OperatorFrame
from mead.reports.judge import ENGINE, PERCENTS, Verdict, all_met, judge_past
from mead.reports.live.decisions import DecisionRecord, list_decisions
from mead.reports.live.history_board import read_frames
from mead.reports.what_if.savings import Savings, plan_savings, recorded_savings


@dataclass(frozen=True)
class PathFigures:
    """Response times of one path."""

    completed: int
    mean_s: float | None
    percentiles_s: Mapping[str, float | None]
    """Percentiles by name, such as ``p95``; None if single response times are not known."""
    model_error: float | None
    """Observed over predicted mean of the allocation in force, less 1; None without predictions."""
    surprises: int
    """Changes whose effect was far from the prediction."""


@dataclass(frozen=True)
class OperatorFigures:
    """Cores of one operator: time averages."""

    given: float
    used: float
    throttled: float


@dataclass(frozen=True, eq=False)
class RunFigures:
    """One past run, for people and scripts."""

    run: PastRun
    frames: Sequence[Frame]
    paths: Mapping[str, PathFigures]
    verdicts: tuple[Verdict, ...]
    operators: Mapping[str, OperatorFigures]
    engine: Mapping[str, float]
    """Cores that Spark and the controller themselves used, where this was measured."""
    highest_caution: float
    cautious: float
    """Fraction of the rounds in which the policy took the bounds tighter than required."""
    savings: Savings | None
    """The savings if the policy had acted; None in mode act."""

    @classmethod
    def of(cls, history: History, number: int) -> RunFigures:
        """Read a run from its history."""
        run = history.run(number)
        pipeline = run.pipeline
        frames = [frame for _, frame in read_frames(history, number, pipeline, after=0)]
        figures, errors = history.figures(number), history.model_errors(number)
        operators = _operators(run, frames)
        changes = list(list_decisions(frames, changes_only=True))
        return cls(
            run,
            frames,
            {path: _path(path, frames, changes, figures.get(path, {}), errors.get(path)) for path in pipeline.paths},
            tuple(judge_past(r, frames, run.duration_s, figures) for r in pipeline.requirements),
            operators,
            {
                name.removeprefix(ENGINE): value
                for name, value in figures.get("", {}).items()
                if name.startswith(ENGINE)
            },
            max((frame.caution for frame in frames), default=1.0),
            sum(frame.caution > 1 for frame in frames) / len(frames) if frames else 0.0,
            _savings(run, frames, figures, sum(one.given for one in operators.values())),
        )

    @property
    def cores(self) -> float:
        """Time average of the cores of all operators together."""
        return sum(one.given for one in self.operators.values())

    @property
    def most_cores(self) -> float:
        """The cores of all operators at their highest levels."""
        return self.run.pipeline.most.cores

    @property
    def met(self) -> bool | None:
        """Whether all requirements were met; None if none is known to be broken, but one is unknown."""
        return all_met(self.verdicts)

    @property
    def required_paths(self) -> tuple[str, ...]:
        """The paths that have a requirement; all paths if none has."""
        required = {one.requirement.path for one in self.verdicts} or set(self.paths)
        return tuple(path for path in self.paths if path in required)

    def as_json(self) -> dict[str, Any]:
        """The document of `mead report --json`."""
        return {
            **run_json(self.run),
            "paths": {
                path: {
                    "mean_s": one.mean_s,
                    **{f"{name}_s": value_s for name, value_s in one.percentiles_s.items()},
                    "completed": one.completed,
                    "model_error": one.model_error,
                    "surprises": one.surprises,
                }
                for path, one in self.paths.items()
            },
            "requirements": [
                {
                    "path": one.requirement.path,
                    "statistic": one.requirement.statistic,
                    "bound_s": one.requirement.bound_s,
                    "measured_s": one.response_s,
                    "late": one.late,
                    "met": one.met,
                    "broken_windows": one.broken_windows,
                }
                for one in self.verdicts
            ],
            "cores": self.cores,
            "most_cores": self.most_cores,
            "operators": {
                name: {"given": one.given, "used": one.used, "throttled": one.throttled}
                for name, one in self.operators.items()
            },
            "engine_cores": dict(self.engine),
            "caution": {"highest": self.highest_caution, "part_of_rounds": self.cautious},
            "savings": None if self.savings is None else self.savings.as_json(),
        }


def _path(
    path: str,
    frames: Sequence[Frame],
    changes: Sequence[DecisionRecord],
    known: Mapping[str, float],
    error: float | None,
) -> PathFigures:
    completed = sum(frame.paths[path].completed for frame in frames)
    sum_s = sum(frame.paths[path].response_sum_s for frame in frames)
    return PathFigures(
        completed,
        known.get("mean_s", sum_s / completed if completed else None),
        {f"p{percent:g}": known.get(f"p{percent:g}_s") for percent in PERCENTS},
        error,
        sum(one.effects[path].surprising for one in changes),
    )


def _operators(run: PastRun, frames: Sequence[Frame]) -> dict[str, OperatorFigures]:
    found = {}
    duration_s = max(run.duration_s, 1e-9)
    for operator in run.pipeline.operators:
        seen = [frame.operators[operator.name] for frame in frames]
        # An allocation is in force until the next round. A run that acts begins with the highest levels.
        first = operator.most.cores if run.mode == "act" else _cores(seen[0]) if seen else 0.0
        held = [first, *map(_cores, seen)]
        times_s = [0.0, *(frame.time_s for frame in frames), run.duration_s]
        core_s = sum(cores * (end_s - start_s) for cores, (start_s, end_s) in zip(held, pairwise(times_s), strict=True))
        found[operator.name] = OperatorFigures(
            core_s / duration_s,
            sum(one.busy_s or 0.0 for one in seen) / duration_s,
            sum(one.throttled_s or 0.0 for one in seen) / duration_s,
        )
    return found


def _cores(operator: OperatorFrame) -> float:
    return (operator.share or 0.0) * (operator.replicas or 0)


def _savings(
    run: PastRun, frames: Sequence[Frame], figures: Mapping[str, Mapping[str, float]], in_force: float
) -> Savings | None:
    if run.mode == "advise":
        return plan_savings(frames, run.pipeline)
    return recorded_savings(figures, in_force, run.pipeline) if run.mode == "observe" else None
