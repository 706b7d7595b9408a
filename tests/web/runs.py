"""Runs to look at: real rounds of the control loop, in virtual time."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np

from mead.history import History
from mead.loop import Mode
from mead.policies import PolicyOptions, make_policy
from mead.policies.adaptive.policy import AdaptiveOptions
from mead.policies.baselines.threshold import ThresholdOptions
from mead.policies.predictive.mg1 import MG1Options
from mead.queueing import MAP, Edge
from mead.reports.judge import Figures
from mead.reports.live import Board
from mead.session import RunFacts
from mead.simulator import SimulatedRun, run
from mead.values import Operator, Pipeline, Requirement, Round
from mead.workload import Trace

PIPELINE = Pipeline(
    "log-analysis",
    [Operator("parser", 0.0001), Operator("counter", 0.0001), Operator("matcher", 0.0015)],
    [Edge("parser", "counter"), Edge("parser", "matcher")],
    [Requirement("parser>matcher", 0.3), Requirement("parser>counter", 0.002, percent=95.0)],
)
STARTED = "2026-01-01T12:00:00+00:00"
STARTED_S = 1767268800.0


@cache
def simulated(policy: str = "mg1", mode: str = "act") -> SimulatedRun:
    """Two minutes of bursty arrivals; a round every ten seconds, most of which change something."""
    iats_s = MAP.two_state(rate_per_s=300.0, idc=100.0).sample(36_000, np.random.default_rng(1))
    trace = Trace.from_iats_s(iats_s)
    options: PolicyOptions = MG1Options(interval_s=10.0, windows=(5000,))
    if policy == "threshold":
        options = ThresholdOptions(interval_s=5.0)
    if policy == "adaptive":
        options = AdaptiveOptions()
    return run(PIPELINE, trace, make_policy(options), seed=1, mode=Mode(mode))


def facts(policy: str = "mg1", mode: str = "act") -> RunFacts:
    """As a command would state them."""
    return RunFacts(PIPELINE, policy, mode, "simulator", "a trace", STARTED, 10.0)


def board(
    rounds: list[Round], *, kept: int = 3600, wall_s: Callable[[], float] = lambda: STARTED_S, mode: str = "act"
) -> Board:
    """A board that was shown these rounds."""
    shown = Board(facts(mode=mode), wall_s=wall_s, kept=kept)
    for this in rounds:
        shown.add(this)
    return shown


def written(
    file: Path, result: SimulatedRun, mode: str = "act", *, finished: bool = True, figures: Figures | None = None
) -> Path:
    """The same run as a history."""
    history = History.open(file)
    record = history.begin(
        "log-analysis",
        PIPELINE,
        policy=result.policy,
        started=STARTED,
        options={"name": result.policy, "interval_s": 10.0},
        mode=mode,
    )
    for this in result.rounds:
        record(this)
    record.conclude(figures or {})
    if finished:
        history.__exit__(None)
    else:
        record.flush()
    return file
