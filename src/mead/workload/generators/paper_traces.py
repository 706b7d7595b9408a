"""Synthetic traces for the experiments of the MEAD paper."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mead.queueing import MAP
from mead.workload.generators.kind import check_expected, check_positive, option, trace_of
from mead.workload.generators.markovian import Bursts
from mead.workload.generators.segments import joined, map_segments
from mead.workload.trace import Trace

PHASES = (
    MAP.poisson(285.0),
    Bursts(calm_per_s=260.0, burst_per_s=460.0, mean_calm_s=4.0, mean_burst_s=2.0).map,
    Bursts(calm_per_s=220.0, burst_per_s=520.0, mean_calm_s=6.0, mean_burst_s=3.0).map,
    Bursts(calm_per_s=250.0, burst_per_s=600.0, mean_calm_s=8.0, mean_burst_s=3.0).map,
    Bursts(calm_per_s=210.0, burst_per_s=700.0, mean_calm_s=10.0, mean_burst_s=3.0).map,
)
"""The MAPs of SYNT in their order. The first has no bursts; bursts of the last overload one core."""

SLOW_BURSTS = Bursts(calm_per_s=120.0, burst_per_s=625.0, mean_calm_s=60.0, mean_burst_s=40.0)
"""322/s on average. At 1.5 ms per tuple, bursts load one core to 0.94 and overload a share of 0.85."""


@dataclass(frozen=True, kw_only=True)
class Synt:
    """Five MAPs of growing variability in sequence, 320/s on average.

    Russo Russo et al., "MEAD" (2021), evaluate on a trace "generated from MAPs with different variability" with
    "abrupt workload changes" but do not publish the MAPs. Those here have mean rates 285, 327, 320, 345 and
    323/s, bursts at 460, 520, 600 and 700/s, and indices of dispersion 1, 74, 251, 308 and 610. At 1.5 ms per tuple
    one core serves 667/s: its load is 0.48 on average, 0.69, 0.78 and 0.90 in bursts, and 1.05 in the bursts of the
    last phase, which last 3 s.

    >>> [round(phase.idc_limit) for phase in PHASES]
    [1, 74, 251, 308, 610]
    """

    duration_s: float = option("length of the trace in seconds; each of the five phases gets a fifth", default=1800.0)

    def __post_init__(self) -> None:
        check_positive(duration_s=self.duration_s)
        check_expected(self.duration_s * max(phase.rate_per_s for phase in PHASES), "ask for a shorter duration")

    def generate(self, rng: np.random.Generator) -> Trace:
        """Generate all phases, each from a stationary start."""
        phase_s = self.duration_s / len(PHASES)
        return trace_of(
            joined(joined(map_segments(phase, phase.time_stationary, rng), duration_s=phase_s) for phase in PHASES)
        )


@dataclass(frozen=True, kw_only=True)
class LiveMapsStandIn:
    """SYNTHETIC stand-in for the Live Maps back-end trace: slow, strong bursts, the most correlated of all kinds.

    The real trace (SNIA IOTTA 158, Microsoft Live Maps back end) is used by Russo Russo et al., "MEAD" (2021), who
    report it as the most correlated of three traces and require 1.5 to 5 s on it. This MMPP(2) is not fitted to that
    trace; it only reproduces strong correlation: lag-1 autocorrelation 0.31 (0.26 at lag 1,000), index of dispersion
    9,100.

    >>> SLOW_BURSTS.map.acf([1, 1000]).round(2).tolist(), round(SLOW_BURSTS.map.idc_limit, -2)
    ([0.31, 0.26], 9100.0)
    """

    duration_s: float = option("length of the trace in seconds", default=1800.0)

    def __post_init__(self) -> None:
        check_positive(duration_s=self.duration_s)
        check_expected(self.duration_s * SLOW_BURSTS.map.rate_per_s, "ask for a shorter duration")

    def generate(self, rng: np.random.Generator) -> Trace:
        """Generate arrivals from a stationary start."""
        source = SLOW_BURSTS.map
        return trace_of(joined(map_segments(source, source.time_stationary, rng), duration_s=self.duration_s))
