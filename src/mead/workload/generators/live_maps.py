"""A synthetic stand-in for the Live Maps trace. It is not that trace and was not fitted to it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mead.workload.generators.bursts import Bursts
from mead.workload.generators.kind import check_expected, check_positive, option, trace_of
from mead.workload.generators.segments import joined, map_segments
from mead.workload.trace import Trace

SLOW_BURSTS = Bursts(calm_per_s=120.0, burst_per_s=625.0, mean_calm_s=60.0, mean_burst_s=40.0)
"""322/s on average. Bursts load one core to 0.94 at 1.5 ms per tuple; at a share of 0.85 the queue grows in them."""


@dataclass(frozen=True, kw_only=True)
class LiveMapsStandIn:
    """SYNTHETIC stand-in for the Live Maps back-end trace: slow, strong bursts, the most correlated of all kinds.

    The real trace (SNIA IOTTA 158, Microsoft Live Maps back end) is used by Russo Russo et al., "MEAD" (2021), who
    report it as the most correlated of three and set requirements of 1.5 to 5 s on it. This MMPP(2) has these two
    properties and claims no other: lag-1 autocorrelation 0.31 (0.26 still at lag 1,000), index of dispersion 9,100.

    >>> SLOW_BURSTS.map.acf([1, 1000]).round(2).tolist(), round(SLOW_BURSTS.map.idc_limit, -2)
    ([0.31, 0.26], 9100.0)
    """

    duration_s: float = option("length of the trace in seconds", default=1800.0)

    def __post_init__(self) -> None:
        check_positive(duration_s=self.duration_s)
        check_expected(self.duration_s * SLOW_BURSTS.map.rate_per_s, "ask for a shorter duration")

    def generate(self, rng: np.random.Generator) -> Trace:
        """Arrivals from a stationary start."""
        source = SLOW_BURSTS.map
        return trace_of(joined(map_segments(source, source.time_stationary, rng), duration_s=self.duration_s))
