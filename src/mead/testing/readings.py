"""Pipelines and readings of them, good and broken, for tests of policies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from mead.arrays import FloatArray
from mead.queueing import MAP, Edge
from mead.values import (
    COUNT_BIN_S,
    Allocation,
    Batches,
    Observation,
    Operator,
    OperatorReading,
    PathReading,
    Pipeline,
    Requirement,
    Resources,
)

INTERVAL_S = 60.0
"""The length of the interval that readings are of, unless told otherwise."""

RATE_PER_S = 330.0
"""The rate of the arrivals."""

NAMES = ("parser", "counter", "matcher")
MIDDLE = Allocation.of({name: Resources(0.7) for name in NAMES})
"""A level from which a policy can go up and down."""


def log_analysis(bound_s: float = 0.3, percent: float | None = None, **matcher: Any) -> Pipeline:
    """The MEAD paper's pipeline, whose matcher may have other properties."""
    return Pipeline(
        "log-analysis",
        [
            Operator("parser", 0.0001),
            Operator("counter", 0.0001),
            Operator("matcher", **({"demand_s": 0.0015} | matcher)),
        ],
        [Edge("parser", "counter"), Edge("parser", "matcher")],
        [Requirement("parser>matcher", bound_s=bound_s, percent=percent)],
    )


def shapes() -> Mapping[str, Pipeline]:
    """Pipelines of different kinds; the arrivals load each to about half of the most that it may have."""
    two_batches = [Operator(name, 0.0008, batches=Batches(0.04)) for name in ("first", "second")]
    diamond = [Operator(name, 0.0006, max_replicas=2) for name in ("split", "left", "right", "join")]
    return {
        "a fork, two replicas": log_analysis(max_replicas=2),
        "one operator": Pipeline("one", [Operator("only", 0.0015)], (), [Requirement("only", 0.3)]),
        "a diamond under a percentile": Pipeline(
            "diamond",
            diamond,
            [Edge("split", "left", 0.5), Edge("split", "right", 0.5), Edge("left", "join"), Edge("right", "join")],
            [Requirement("split>left>join", 0.5, percent=95.0)],
        ),
        "micro-batches": Pipeline(
            "tandem", two_batches, [Edge("first", "second")], [Requirement("first>second", bound_s=1.0)]
        ),
    }


def bursty(iats: int = 12_000) -> FloatArray:
    """Bursty inter-arrival times, always the same."""
    return MAP.two_state(RATE_PER_S, idc=200.0).sample(iats, np.random.default_rng(7))


def observed(
    pipeline: Pipeline,
    *,
    iats_s: FloatArray | None = None,
    allocation: Allocation | None = None,
    time_s: float = 600.0,
    utilization: float | None = None,
    backlog: int = 0,
    **changes: Any,
) -> Observation:
    """A quiet interval: every operator served what arrived, at the rate of the IATs."""
    iats_s = np.full(400, 0.003) if iats_s is None else iats_s
    allocation = allocation or pipeline.most
    tuples = round(INTERVAL_S * iats_s.size / iats_s.sum()) if iats_s.sum() > 0 else 0
    readings = {}
    for operator in pipeline.operators:
        served = round(tuples * pipeline.visits[operator.name])
        busy_s = operator.demand_s * served
        if utilization is not None:
            busy_s = utilization * allocation[operator.name].cores * INTERVAL_S
        readings[operator.name] = OperatorReading(served, served, backlog, busy_s)
    quiet = Observation(
        time_s=time_s,
        interval_s=INTERVAL_S,
        allocation=allocation,
        operators=readings,
        paths={path: PathReading(tuples, 0.01 * tuples, 0) for path in pipeline.paths},
        iats_s=iats_s,
        counts=np.full(round(INTERVAL_S / COUNT_BIN_S), tuples / INTERVAL_S * COUNT_BIN_S),
    )
    return replace(quiet, **changes)


def _reading(**changes: Any) -> OperatorReading:
    return OperatorReading(**({"arrived": 100, "completed": 100, "backlog": 0, "busy_s": 1.0} | changes))


NOTHING = OperatorReading(arrived=0, completed=0, backlog=0, busy_s=0.0)

BROKEN: Mapping[str, Mapping[str, Any]] = {
    "said to be missing": {"missing": "the listener has sent nothing for 30 s"},
    "without operators": {"operators": {}},
    "without the matcher": {"operators": {"parser": _reading(), "counter": _reading()}},
    "all zero": {"operators": dict.fromkeys(NAMES, NOTHING)},
    "negative counts": {"operators": dict.fromkeys(NAMES, _reading(completed=-5))},
    "negative CPU time": {"operators": dict.fromkeys(NAMES, _reading(busy_s=-1.0))},
    "CPU time that is no number": {"operators": dict.fromkeys(NAMES, _reading(busy_s=float("nan")))},
    "endless CPU time": {"operators": dict.fromkeys(NAMES, _reading(busy_s=float("inf")))},
    "no time passed": {"interval_s": 0.0},
    "time ran backwards": {"interval_s": -60.0},
    "time is no number": {"interval_s": float("nan")},
    "no allocation of the matcher": {"allocation": Allocation.of(parser=Resources(0.7), counter=Resources(0.7))},
    "an allocation of nothing": {"allocation": Allocation.of(dict.fromkeys(NAMES, Resources(0.0)))},
    "nothing at all": {
        "operators": dict.fromkeys(NAMES, NOTHING),
        "paths": {},
        "iats_s": np.empty(0),
        "counts": np.empty(0),
    },
}
"""Changes that break an observation of the log analysis, by kind of fault."""
