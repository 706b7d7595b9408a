"""Targets of the default fitter: response times of the replayed window."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from mead.arrays import FloatArray
from mead.queueing.ph import PH
from mead.queueing.queues.replay import ReplayResponse, ServiceTimes, replay_at_utilizations
from mead.queueing.statistics.inter_arrivals import LONGEST_SPAN, idc

ERLANG_PHASES = 2
REFERENCE_SERVICE = PH.erlang(ERLANG_PHASES, 1.0)
"""A fit to this service holds for others too: it finds the arrival process, not the numbers (see the benchmark)."""

CANDIDATES = (
    *(0.2, 0.27, 0.34, 0.41, 0.455, 0.475, 0.525, 0.545, 0.575),
    *(0.605, 0.635, 0.665, 0.73, 0.76, 0.83, 0.86, 0.92),
)
"""Utilizations to calibrate at. The round ones are left out: benchmarks judge there. None is above .92, since a
window that starts empty and ends early flattens there while a stationary model does not."""

REFERENCES = 8
SCOUTS, SEQUENCES = 1, 6
"""One sequence of service times shows where the response rises; six measure it there, for one is noise of 3-10 %."""

SPANS = 10


@dataclass(frozen=True, eq=False)
class QueueTargets:
    """Statistics of a window of mean-1 IATs; response times are in mean IATs."""

    utilizations: FloatArray
    mean: FloatArray
    p95: FloatArray
    spans: FloatArray
    idc: FloatArray
    second_moment: float
    third_moment: float

    @classmethod
    def of(cls, unit: FloatArray, seed: int) -> QueueTargets:
        """Replay the window at the utilizations where its response time changes most."""
        services = _services(unit.size, seed)
        scouts = _replayed(unit, ServiceTimes(services.unit[:SCOUTS], 1.0), CANDIDATES)
        chosen = reference_utilizations(scouts)
        mean, p95 = _replayed(unit, services, chosen)
        spans = np.geomspace(1.0, max(unit.size * LONGEST_SPAN, 2.0), SPANS)
        return cls(
            utilizations=np.array(chosen),
            mean=mean,
            p95=p95,
            spans=spans,
            idc=np.maximum(idc(unit, spans), 1e-3),
            second_moment=float((unit**2).mean()),
            third_moment=float((unit**3).mean()),
        )


def reference_utilizations(responses: FloatArray) -> tuple[float, ...]:
    """Choose the utilizations at which MAPs are compared with the window.

    They spread evenly over utilization and over the rise of log mean and log p95 together.

    A window with one strong burst has a cliff: beyond some utilization the burst no longer fits, and the response
    jumps. Evenly spaced references would step over it. ``responses`` holds mean and p95 at all candidates.
    """
    utilization = np.array(CANDIDATES)
    rise = np.maximum.accumulate(np.log(responses / utilization).sum(axis=0))
    spread = (utilization - utilization[0]) / (utilization[-1] - utilization[0])
    spread += (rise - rise[0]) / max(rise[-1] - rise[0], 1e-12)
    wanted = np.linspace(0.0, spread[-1], REFERENCES)
    nearest = np.abs(spread[None, :] - wanted[:, None]).argmin(axis=1)
    return tuple(CANDIDATES[i] for i in sorted(set(nearest.tolist())))


def _replayed(unit: FloatArray, services: ServiceTimes, utilizations: tuple[float, ...]) -> FloatArray:
    """Mean and p95 of the response, one column per utilization."""
    solutions = replay_at_utilizations(unit, services, utilizations)
    return np.array([(s.mean_s, s.percentile_s(95)) for s in solutions if isinstance(s, ReplayResponse)]).T


@lru_cache(maxsize=4)
def _services(tuples: int, seed: int) -> ServiceTimes:
    """Common random numbers: every window of one size meets the same service times."""
    drawn = np.random.default_rng(seed).standard_gamma(ERLANG_PHASES, (SEQUENCES, tuples))
    return ServiceTimes(drawn / ERLANG_PHASES, 1.0)
