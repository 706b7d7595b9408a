"""The figures of a whole run, read from its history."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mead.history import History, PastRun
from mead.reports.documents import run_json
from mead.reports.frames import Frame, OperatorFrame
from mead.reports.judge import ENGINE, PERCENTS, Verdict, all_met, judge_past
from mead.reports.live.decisions import DecisionRecord, Decisions
from mead.reports.live.history_board import read_frames
from mead.reports.pages.thinning import CondensedFrames
from mead.reports.what_if.savings import Savings, plan_savings, recorded_savings

MOST_DECISIONS = 300
"""The most decisions of each kind in a report: the last ones."""


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
    """All rounds; merged to half-minutes in a run of many hours."""
    changes: Sequence[DecisionRecord]
    """The last decisions that changed something."""
    decisions: Sequence[DecisionRecord]
    """The last decisions of all kinds."""
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
        figures, errors = history.figures(number), history.model_errors(number)
        read = _Reading(run)
        for _, frame in read_frames(history, number, pipeline, after=0):
            read.add(frame)
        operators, frames = read.operators(), read.condensed.frames
        changes, decisions = read.changes.records(), read.decisions.records()
        surprises = read.changes.surprises + Counter(
            path for one in changes[-1:] for path, effect in one.effects.items() if effect.surprising
        )
        return cls(
            run,
            frames,
            changes,
            decisions,
            {
                path: _path(path, frames, surprises[path], figures.get(path, {}), errors.get(path))
                for path in pipeline.paths
            },
            tuple(judge_past(r, frames, run.duration_s, figures) for r in pipeline.requirements),
            operators,
            {
                name.removeprefix(ENGINE): value
                for name, value in figures.get("", {}).items()
                if name.startswith(ENGINE)
            },
            read.highest_caution,
            read.cautious / max(run.rounds, 1),
            _savings(history, run, figures, errors, sum(one.given for one in operators.values())),
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
    surprises: int,
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
        surprises,
    )


class _Reading:
    """The sums that a report needs of every single round, in memory that does not grow with the run."""

    def __init__(self, run: PastRun) -> None:
        self.run = run
        self.condensed = CondensedFrames()
        self.changes = Decisions(changes_only=True, limit=MOST_DECISIONS)
        self.decisions = Decisions(changes_only=False, limit=MOST_DECISIONS)
        # An allocation is in force until the next round. A run that acts begins with the highest levels.
        acts = run.mode == "act"
        self._held = {o.name: o.most.cores if acts else None for o in run.pipeline.operators}
        self.highest_caution, self.cautious = 1.0, 0
        self._since_s = 0.0
        self._sums = {operator.name: [0.0, 0.0, 0.0] for operator in run.pipeline.operators}

    def add(self, frame: Frame) -> None:
        """Add one round."""
        for part in (self.condensed, self.changes, self.decisions):
            part.add(frame)
        self.highest_caution = max(self.highest_caution, frame.caution)
        merged = frame.merged
        self.cautious += (frame.rounds if frame.caution > 1 else 0) if merged is None else merged.cautious
        for name, seen in frame.operators.items():
            sums, held = self._sums[name], self._held[name]
            sums[0] += (_cores(seen) if held is None else held) * (frame.time_s - self._since_s)
            sums[1] += seen.busy_s or 0.0
            sums[2] += seen.throttled_s or 0.0
            if merged is not None:
                sums[0] += merged.core_s.get(name, 0.0)
            self._held[name] = _cores(seen) if merged is None else 0.0
        self._since_s = frame.time_s

    def operators(self) -> dict[str, OperatorFigures]:
        """Time averages of the cores of every operator."""
        duration_s = max(self.run.duration_s, 1e-9)
        for name, held in self._held.items():
            self._sums[name][0] += (held or 0.0) * (self.run.duration_s - self._since_s)
        self._since_s = self.run.duration_s
        return {name: OperatorFigures(*(value / duration_s for value in sums)) for name, sums in self._sums.items()}


def _cores(operator: OperatorFrame) -> float:
    return (operator.share or 0.0) * (operator.replicas or 0)


def _savings(
    history: History,
    run: PastRun,
    figures: Mapping[str, Mapping[str, float]],
    errors: Mapping[str, float],
    in_force: float,
) -> Savings | None:
    if run.mode == "advise":
        frames = (frame for _, frame in read_frames(history, run.number, run.pipeline, after=0))
        return plan_savings(frames, run.pipeline, errors)
    return recorded_savings(figures, in_force, run.pipeline) if run.mode == "observe" else None
