"""SYNT: a synthetic trace whose burstiness grows from phase to phase, with abrupt changes between them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mead.queueing import MAP
from mead.workload.generators.bursts import Bursts
from mead.workload.generators.kind import check_expected, check_positive, option, trace_of
from mead.workload.generators.segments import joined, map_segments
from mead.workload.trace import Trace

PHASES = (
    MAP.poisson(285.0),
    Bursts(calm_per_s=260.0, burst_per_s=460.0, mean_calm_s=4.0, mean_burst_s=2.0).map,
    Bursts(calm_per_s=220.0, burst_per_s=520.0, mean_calm_s=6.0, mean_burst_s=3.0).map,
    Bursts(calm_per_s=250.0, burst_per_s=600.0, mean_calm_s=8.0, mean_burst_s=3.0).map,
    Bursts(calm_per_s=210.0, burst_per_s=700.0, mean_calm_s=10.0, mean_burst_s=3.0).map,
)
"""The MAPs that follow each other: the first has no bursts, those of the last exceed what one core can do."""


@dataclass(frozen=True, kw_only=True)
class Synt:
    """Five MAPs of growing variability one after the other, 320/s on average.

    Russo Russo et al., "MEAD" (2021), evaluate on a trace "generated from MAPs with different variability" with
    "abrupt workload changes" and do not give the MAPs. These are ours: mean rates 285, 327, 320, 345 and 323/s,
    bursts at 460, 520, 600 and 700/s, indices of dispersion 1, 74, 251, 308 and 610. At 1.5 ms per tuple one core does
    667/s: it is loaded to 0.48 on average, to 0.69, 0.78 and 0.90 in bursts, and overloaded (1.05) in the bursts of
    the last phase, for 3 s at a time.

    >>> [round(phase.idc_limit) for phase in PHASES]
    [1, 74, 251, 308, 610]
    """

    duration_s: float = option("length of the trace in seconds; each of the five phases gets a fifth", default=1800.0)

    def __post_init__(self) -> None:
        check_positive(duration_s=self.duration_s)
        check_expected(self.duration_s * max(phase.rate_per_s for phase in PHASES), "ask for a shorter duration")

    def generate(self, rng: np.random.Generator) -> Trace:
        """All phases, each from a stationary start: the change is abrupt."""
        phase_s = self.duration_s / len(PHASES)
        return trace_of(
            joined(joined(map_segments(phase, phase.time_stationary, rng), duration_s=phase_s) for phase in PHASES)
        )
