"""DRS live on Spark, on its own applications, under loads that make it decide."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from mead.arrays import FloatArray
from mead.config import parse_pipeline
from mead.policies.drs.facts import Scheduled, Sojourn
from mead.policies.drs.policy import DRSOptions
from mead.reports.tables import number_or_nothing, plain_table
from mead.session import LiveResult
from mead.spark.pipeline.file_run import RunSettings, run_file
from mead.values import Round
from mead.workload import Trace

EXAMPLES = Path(__file__).parents[2] / "examples"

SPARE_S = 60.0
"""Arrivals after the end of a run: the source warms up with some of them."""

INTERVAL_S, T_RA_S, WINDOW = 5.0, 15.0, 2
"""DRS as in the pipeline files, and smoothed over two intervals: a run takes minutes."""


@dataclass(frozen=True)
class Application:
    """One of the applications, and its load."""

    file: str
    arrivals_s: Callable[[float, np.random.Generator], FloatArray]
    """Arrivals of a run of so many seconds."""
    load: str
    changed: Mapping[str, str]
    """Texts of the pipeline file that are replaced."""


def poisson(rate_per_s: float, first_s: float, end_s: float, rng: np.random.Generator) -> FloatArray:
    """Poisson arrivals from one time to another."""
    return np.sort(rng.uniform(first_s, end_s, rng.poisson(rate_per_s * (end_s - first_s))))


SLOW, FAST = 1.0, 8.0
"""Frames per second in the two halves of a run."""


def _frames(duration_s: float, rng: np.random.Generator) -> FloatArray:
    middle_s = duration_s / 2
    return np.concatenate([poisson(SLOW, 0.0, middle_s, rng), poisson(FAST, middle_s, duration_s + SPARE_S, rng)])


POSTS = 50_000
"""The window of the paper."""


def _posts(duration_s: float, rng: np.random.Generator) -> FloatArray:
    return np.concatenate([np.linspace(0.0, 1.0, POSTS), poisson(320.0, 1.0, duration_s + SPARE_S, rng)])


SMALL = {"shares: [0.2, 0.4, 0.7, 1.0]": "shares: [0.4]"}
"""A replica is 0.4 cores, so that five of them fit on two cores."""

APPLICATIONS = {
    "logos": Application(
        "logo-detection",
        _frames,
        f"{SLOW:g} frames/s, and {FAST:g} in the second half",
        SMALL,
    ),
    "patterns": Application(
        "pattern-detection",
        _posts,
        f"{POSTS:,} posts at once, which fill the window, and then 320/s",
        SMALL | {"window: 1000": f"window: {POSTS}", "threshold: 30": f"threshold: {POSTS * 30 // 1000}"},
    ),
}


@dataclass(frozen=True)
class Decision:
    """What DRS decided in one round."""

    time_s: float
    before: tuple[int, ...]
    after: tuple[int, ...]
    action: str
    measured_s: float | None
    """Mean time until all of an input was done; None if no input was."""
    model_s: float | None
    """E[T] of the allocation before, with the time of micro-batches; None if it cannot keep up."""
    reason: str

    @classmethod
    def of(cls, this: Round) -> Decision | None:
        """The decision of a round; None if DRS could not decide."""
        plan, observation = this.plan, this.observation
        if plan is None or observation is None:
            return None
        facts = {type(fact): fact for fact in plan.reason.facts}
        scheduled, sojourn = facts.get(Scheduled), facts.get(Sojourn)
        if not isinstance(scheduled, Scheduled):
            return None
        measured_s = model_s = None
        if isinstance(sojourn, Sojourn):
            whole_s = sojourn.model_s + sojourn.gates_s
            measured_s, model_s = sojourn.measured_s, whole_s if np.isfinite(whole_s) else None
        before, after = (
            tuple(resources.replicas for _, resources in allocation.items())
            for allocation in (observation.allocation, plan.allocation)
        )
        return cls(this.time_s, before, after, scheduled.action, measured_s, model_s, str(plan.reason))

    def as_json(self) -> dict[str, Any]:
        """One entry of ``decisions``."""
        return {
            "time_s": self.time_s,
            "before": list(self.before),
            "after": list(self.after),
            "action": self.action,
            "measured_s": self.measured_s,
            "model_s": self.model_s,
            "reason": self.reason,
        }


@dataclass(frozen=True, eq=False)
class LiveShow:
    """A run of one application."""

    name: str
    load: str
    decisions: Sequence[Decision]
    result: LiveResult

    def as_json(self) -> dict[str, Any]:
        """One entry of ``runs``."""
        return {
            "application": self.name,
            "load": self.load,
            "decisions": [one.as_json() for one in self.decisions],
            "tuples": self.result.tuples,
            "rows": dict(self.result.rows_in),
            "cores": self.cores,
            "drained": self.result.drained,
        }

    @property
    def cores(self) -> dict[str, float]:
        """CPU that the workers of each operator used."""
        return {name: used.cpu_s / self.result.duration_s for name, used in self.result.used.items()}


def show_application(name: str, folder: Path, duration_s: float, seed: int) -> LiveShow:
    """Run an application on Spark."""
    application = APPLICATIONS[name]
    text = (EXAMPLES / f"{application.file}.yaml").read_text()
    for old, new in application.changed.items():
        text = text.replace(old, new)
    arrivals = Trace.from_timestamps_s(application.arrivals_s(duration_s, np.random.default_rng(seed)))
    policy = DRSOptions(interval_s=INTERVAL_S, t_ra_s=T_RA_S, window=WINDOW)
    settings = RunSettings(policy, folder / name, duration_s=duration_s, arrivals=arrivals)
    report = run_file(parse_pipeline(text.encode()), EXAMPLES, settings)
    decisions = [decision for one in report.result.rounds if (decision := Decision.of(one)) is not None]
    return LiveShow(name, application.load, decisions, report.result)


def live_parts(runs: Sequence[LiveShow]) -> Iterator[Table | str]:
    """One table for each application, and the reasons of the decisions that changed something."""
    for run in runs:
        names = ":".join(operator.name for operator in run.result.pipeline.operators)
        table = plain_table(
            f"{run.name}, {run.load}; replicas of {names}", "s", "before", "after", "action", "measured s", "model s"
        )
        for one in run.decisions:
            times = (number_or_nothing(one.measured_s), number_or_nothing(one.model_s))
            placed = (":".join(map(str, placement)) for placement in (one.before, one.after))
            table.add_row(f"{one.time_s:.0f}", *placed, one.action, *times)
        yield table
        for one in run.decisions:
            if one.before != one.after:
                yield f"{one.time_s:.0f} s: {one.reason}"
        used = ", ".join(f"{name} {cores:.2f}" for name, cores in run.cores.items())
        rows = ", ".join(f"{name} {rows:,}" for name, rows in run.result.rows_in.items())
        yield f"Cores used: {used}. Rows read: {rows}. All inputs done: {'yes' if run.result.drained else 'no'}."
