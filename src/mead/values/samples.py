"""Times sampled from a few tuples, kept as the sums that give their mean and variability."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SampledTimes:
    """Count, sum and sum of squares of sampled times, which can be added up over instances and time.

    >>> gaps = SampledTimes(2, 4.0, 10.0) + SampledTimes(1, 5.0, 25.0)  # 1, 3 and 5 seconds
    >>> gaps.mean_s, round(gaps.scv, 4)
    (3.0, 0.2963)
    """

    count: int = 0
    sum_s: float = 0.0
    squares_s2: float = 0.0

    def __add__(self, other: SampledTimes) -> SampledTimes:
        return SampledTimes(self.count + other.count, self.sum_s + other.sum_s, self.squares_s2 + other.squares_s2)

    def since(self, before: SampledTimes) -> SampledTimes:
        """The times recorded since ``before``, an earlier state of the same sums."""
        return SampledTimes(
            self.count - before.count, self.sum_s - before.sum_s, max(self.squares_s2 - before.squares_s2, 0.0)
        )

    @property
    def mean_s(self) -> float | None:
        """The mean; None if nothing was recorded."""
        return self.sum_s / self.count if self.count else None

    @property
    def scv(self) -> float | None:
        """Variance over squared mean of the sample; None for fewer than two times, or if all were 0."""
        if self.count < 2 or self.sum_s <= 0:
            return None
        return max(self.squares_s2 * self.count / self.sum_s**2 - 1.0, 0.0)


NOTHING_SAMPLED = SampledTimes()
