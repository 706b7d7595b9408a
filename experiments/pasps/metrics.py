"""The six metrics of the PA-SPS paper (section 4.1.3), and CPU consumption (its Table 5).

Where the paper leaves something open, its tables decide.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

import numpy as np

from mead.arrays import FloatArray

CLUSTER_CORES = 7 * 8
"""Virtual CPUs of the paper's supervisors."""

THREAD_CORES = CLUSTER_CORES * (0.1466 - 0.0957) / (40 * 0.688)
"""Cores that an active replica takes beside its tuples, as Table 5 implies: the work is the same with all 40 replicas
and with .688 fewer, so the difference in CPU consumption is that of the threads. A tenth of a core."""


@dataclass(frozen=True, eq=False)
class Intervals:
    """A run by interval, with forecasts if the system makes them."""

    received: FloatArray = field(repr=False)
    processed: FloatArray = field(repr=False)
    latency_s: FloatArray = field(repr=False)
    """Mean of those that were processed in the interval."""
    replicas: FloatArray = field(repr=False)
    """Active ones, of all operators together."""
    foreseen: FloatArray | None = field(default=None, repr=False)
    """Forecast of ``received``; NaN before the first forecast."""
    needed_replicas: FloatArray | None = field(default=None, repr=False)
    """Replicas needed for all events of the interval, including those that waited at its start."""
    foreseen_replicas: FloatArray | None = field(default=None, repr=False)
    busy_cores: float | None = None
    """Cores that worked on tuples, in the mean."""


@dataclass(frozen=True)
class Metrics:
    """The paper's metrics of a whole run."""

    saved: float
    """Saved resources: the part of an over-provisioned system's replicas that was not active."""
    degradation: float
    """Throughput degradation: mean relative difference between what came and what left, over the intervals."""
    processed: float
    """"Difference in the number of processed events": tabulated as processed over received, and so it is here."""
    latency_ms: float
    """Mean time from end to end, of all events that were processed."""
    input_error: float | None = None
    """Mean relative error of the forecast."""
    replica_error: float | None = None
    """The mean relative error of the replicas asked for, all operators together."""
    cpu_percent: float | None = None
    """Of the cluster: work on tuples, and the threads of active replicas."""

    @classmethod
    def of(cls, run: Intervals, r_over: float) -> Metrics:
        """Sum a run up; ``r_over`` is what an over-provisioned system would have."""
        came = run.received > 0
        left, active = run.processed.sum(), float(run.replicas.mean())
        cores = None if run.busy_cores is None else run.busy_cores + THREAD_CORES * active
        return cls(
            saved=1 - active / r_over,
            degradation=float(np.mean(np.abs(run.received - run.processed)[came] / run.received[came])),
            processed=float(left / run.received.sum()),
            latency_ms=1000 * float(np.nansum(run.latency_s * run.processed) / left) if left else np.nan,
            input_error=_relative_error(run.received, run.foreseen),
            replica_error=_relative_error(run.needed_replicas, run.foreseen_replicas),
            cpu_percent=None if cores is None else 100 * cores / CLUSTER_CORES,
        )

    @classmethod
    def mean(cls, runs: Sequence[Metrics]) -> Metrics:
        """Means over several runs, such as those of several seeds.

        >>> both = Metrics.mean([Metrics(0.4, 0.1, 1.0, 300.0, 0.2), Metrics(0.6, 0.1, 1.0, 100.0, 0.4)])
        >>> both.saved, both.latency_ms, round(both.input_error, 9), both.cpu_percent
        (0.5, 200.0, 0.3, None)
        """
        means = {
            name: None if None in (column := [asdict(run)[name] for run in runs]) else float(np.mean(column))
            for name in asdict(runs[0])
        }
        return cls(**means)  # type: ignore[arg-type]  # those that are None may be


def _relative_error(actual: FloatArray | None, foreseen: FloatArray | None) -> float | None:
    if actual is None or foreseen is None:
        return None
    known = (actual > 0) & np.isfinite(foreseen)
    return float(np.mean(np.abs(actual - foreseen)[known] / actual[known])) if known.any() else None
