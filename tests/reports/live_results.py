"""Live runs as the engine would return them, made by hand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from mead.arrays import frozen
from mead.cpu import CpuUsage
from mead.loop import Mode
from mead.monitor import BatchResponses, PathMonitor
from mead.session.record import RunRecord
from mead.session.result import EngineCpu, LiveResult
from mead.values import Allocation, Observation, OperatorReading, PathReading, Pipeline, Resources, Round

NOTHING = frozen([])


def live_result(
    pipeline: Pipeline, duration_s: float, took_s: Mapping[str, Iterable[tuple[float, float]]], **changes: Any
) -> LiveResult:
    """A run at full share in which tuples arrived on paths at these times, and took so long."""
    paths = {path: PathMonitor(()) for path in pipeline.paths}
    for path, some in took_s.items():
        for arrived_s, response_s in some:
            paths[path].add(BatchResponses(arrived_s + response_s, 1, response_s, np.full(17, response_s)))
    record = RunRecord(changes.get("start", pipeline.most))
    for this in changes.get("rounds", ()):
        record.add(this)
    usual: dict[str, Any] = {
        "pipeline": pipeline,
        "policy": "static",
        "mode": Mode.ACT,
        "duration_s": duration_s,
        "rounds": (),
        "total_rounds": record.rounds,
        "failed_rounds": record.failed,
        "changes": record.changes,
        "timeline": tuple(record.timeline),
        "cores": {name: core_s / duration_s for name, core_s in record.core_s(duration_s).items()},
        "cost": record.cost_s(pipeline, duration_s) / duration_s,
        "responses": {path: monitor.whole for path, monitor in paths.items()},
        "parts": {path: monitor.parts for path, monitor in paths.items()},
        "start": record.start,
        "cpu": EngineCpu(java_s=0.5 * duration_s, driver_s=0.03 * duration_s),
        "loop_s": 0.01 * duration_s,
        "used": {o.name: CpuUsage(0.4 * duration_s, 100, 30, 0.25 * duration_s) for o in pipeline.operators},
        "demands_s": {o.name: o.demand_s for o in pipeline.operators},
        "overheads_s": {o.name: o.batches.overhead_s for o in pipeline.operators if o.batches},
        "rows_in": {o.name: 1_000 for o in pipeline.operators},
        "rows_out": {o.name: 990 for o in pipeline.operators},
        "first": 0,
        "tuples": max((len(list(some)) for some in took_s.values()), default=0),
        "restarts": (),
        "drained": True,
    }
    return LiveResult(**usual | changes)


def seen(time_s: float, pipeline: Pipeline, backlog: int = 0, **changes: Any) -> Round:
    """A round that saw as many tuples waiting everywhere."""
    observation = Observation(
        time_s,
        1.0,
        pipeline.most,
        {o.name: OperatorReading(10, 10, backlog, 0.1) for o in pipeline.operators},
        {path: PathReading(10, 5.0, 0) for path in pipeline.paths},
        NOTHING,
        NOTHING,
    )
    usual: dict[str, Any] = {"observation": observation, "in_force": pipeline.most}
    return Round(time_s, **usual | changes)


def at_share(pipeline: Pipeline, share: float) -> Allocation:
    """The same for all operators."""
    return Allocation.of({operator.name: Resources(share) for operator in pipeline.operators})
