"""The "self-similar" streams of the Elastic-PPQ experiments: heavy-tailed counts in short slots."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

import numpy as np
from scipy.special import zeta

from mead.workload.generators.kind import Endless, GeneratorError, check_expected, check_positive, option
from mead.workload.generators.segments import Segment, block_sizes

USUAL_SLOT_S = 0.001

TUPLES_PER_SLOT = 10.0
"""Mean per slot. Below 10,000/s slots are longer: no slot is empty, which would raise the rate of short ones."""

ROUNDING = 1e-9
"""Relative tolerance of the slot length, so that one computed from the rate is accepted."""


@dataclass(frozen=True, kw_only=True)
class SelfSimilar(Endless):
    """A Pareto distributed number of arrivals in every slot of a millisecond, by Hurst parameter.

    The recipe of Mencagli, Torquati and Danelutto, "Elastic-PPQ" (2018), as found in their streams: Pareto shape
    ``a = 3 - 2H``, scale ``b = mean per slot * (a-1)/a``, count ``ceil(b floor(Pareto))``, slots independent of
    each other. The result differs from its name in two ways. Rounding makes the mean 0.83 to 0.98 of the nominal
    rate (0.86 at H = 0.6); ``mean_rate_per_s`` is exact. Independent slots have no long memory: the index of
    dispersion is large, but the same at every time scale above the slot.

    >>> round(SelfSimilar(rate_per_s=30_000.0, hurst=0.6, count=10).mean_rate_per_s)
    25656
    """

    rate_per_s: float = option("nominal arrivals per second; the mean comes out lower, 0.86 of it at H = 0.6")
    hurst: float = option("Hurst parameter, between 0.5 and 1; higher is burstier")
    slot_s: float | None = option("length of a slot; 1 ms, or longer to hold 10 tuples at low rates", default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(rate_per_s=self.rate_per_s)
        check_positive(slot_s=self.slot_length_s)
        check_expected(self.rate_per_s * self.slot_length_s, "make slot_s shorter")
        if self.slot_s is not None and self.rate_per_s * self.slot_s < TUPLES_PER_SLOT * (1 - ROUNDING):
            raise GeneratorError(
                f"slot_s is too short for this rate: no slot stays empty, so each must hold {TUPLES_PER_SLOT:g} tuples "
                f"on average; {TUPLES_PER_SLOT / self.rate_per_s:g} s would do, got {self.slot_s:g} s"
            )
        if not 0.5 < self.hurst < 1:
            raise GeneratorError(f"hurst must lie between 0.5 and 1, both excluded; got {self.hurst:g}")

    @property
    def shape(self) -> float:
        """Tail exponent of the Pareto distribution."""
        return 3 - 2 * self.hurst

    @property
    def slot_length_s(self) -> float:
        """Length of a slot: the given one, or the one that the rate needs."""
        return max(USUAL_SLOT_S, TUPLES_PER_SLOT / self.rate_per_s) if self.slot_s is None else self.slot_s

    @property
    def scale(self) -> float:
        """Tuples per unit of the Pareto variable."""
        return self.rate_per_s * self.slot_length_s * (self.shape - 1) / self.shape

    @property
    def mean_rate_per_s(self) -> float:
        """Mean arrivals per second: ``sum_k ceil(b k) P(floor(Pareto) = k)``, nearly ``b zeta(a) + 1/2`` per slot."""
        k = np.arange(1.0, 1e5)
        chance = k**-self.shape - (k + 1) ** -self.shape
        rounded_up = np.ceil(self.scale * k) - self.scale * k
        return float(self.scale * zeta(self.shape) + chance @ rounded_up) / self.slot_length_s

    def segments(self, rng: np.random.Generator) -> Iterator[Segment]:
        """Yield segments of many slots. Arrivals are uniform within a slot."""
        for block in block_sizes():
            slots = ceil(block / (self.rate_per_s * self.slot_length_s))
            pareto = rng.pareto(self.shape, slots) + 1
            counts = np.ceil(self.scale * np.floor(pareto)).astype(np.int64)
            slot_of_tuple = np.repeat(np.arange(slots, dtype=np.float64), counts)
            times = np.sort(slot_of_tuple + rng.random(slot_of_tuple.size))
            yield Segment(times * self.slot_length_s, slots * self.slot_length_s)
