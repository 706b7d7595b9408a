from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mead.knowledge.allocation import Allocation
from mead.knowledge.observation import COUNT_BIN_S, Observation, OperatorReading, PathReading
from mead.knowledge.pipeline import Operator, Pipeline
from mead.knowledge.requirement import Requirement
from mead.models.arrays import FloatArray
from mead.models.map import MAP
from mead.models.network.graph import Edge

INTERVAL_S = 60.0

Observer = Callable[..., Observation]
Describer = Callable[..., Pipeline]


@pytest.fixture(scope="session")
def log_analysis() -> Describer:
    def described(bound_s: float = 0.3, percent: float | None = None, **matcher: Any) -> Pipeline:
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

    return described


@pytest.fixture(scope="session")
def bursty() -> FloatArray:
    return MAP.two_state(rate_per_s=330.0, idc=200.0).sample(12_000, np.random.default_rng(7))


@pytest.fixture(scope="session")
def observed() -> Observer:
    def observation(
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
        fields: dict[str, Any] = {
            "time_s": time_s,
            "interval_s": INTERVAL_S,
            "allocation": allocation,
            "operators": readings,
            "paths": {path: PathReading(tuples, 0.01 * tuples, 0) for path in pipeline.paths},
            "iats_s": iats_s,
            "counts": np.full(round(INTERVAL_S / COUNT_BIN_S), tuples / INTERVAL_S * COUNT_BIN_S),
        }
        return Observation(**(fields | changes))

    return observation
