"""Convert a CPU share to a kernel limit: CPU time in every period.

The kernel stops a group that has used up its quota until the period ends. At share 0.4 and the kernel's default period
of 100 ms, a worker runs for 40 ms and then waits for 60 ms, which may all be added to a micro-batch of 10 ms. At a
period of 20 ms the longest wait is 12 ms. Much shorter periods are not enforced well: the kernel hands out quota to
each CPU in slices of 5 ms and refuses a quota below 1 ms.
"""

from __future__ import annotations

from dataclasses import dataclass

PERIOD_US = 20_000
"""Short compared with a micro-batch, long compared with the scheduler's slices."""

BURST_US = 4_000
"""Unused quota that may be saved for later periods. Bursty work is then stopped less often, and uses no more in the
long run. The kernel allows at most one quota of burst. This value fits every share from 0.2 up, so that a change of
share need not write it again."""

LEAST_QUOTA_US = 1_000
LEAST_PERIOD_US = 1_000
MOST_PERIOD_US = 1_000_000
"""Limits that the kernel accepts."""


@dataclass(frozen=True)
class Limit:
    """``quota_us`` of CPU time in every ``period_us``, and up to ``burst_us`` of saved quota."""

    quota_us: int
    period_us: int
    burst_us: int

    @classmethod
    def of(cls, share: float, period_us: int = PERIOD_US, burst_us: int = BURST_US) -> Limit:
        """Return the limit that gives this share.

        >>> Limit.of(0.4)
        Limit(quota_us=8000, period_us=20000, burst_us=4000)

        A share whose quota would be too small gets a longer period:

        >>> Limit.of(0.01)
        Limit(quota_us=1000, period_us=100000, burst_us=1000)
        """
        if not LEAST_PERIOD_US <= period_us <= MOST_PERIOD_US:
            raise ValueError(f"period_us must be between {LEAST_PERIOD_US} and {MOST_PERIOD_US}; got {period_us}")
        if burst_us < 0:
            raise ValueError(f"burst_us must be 0 or more; got {burst_us}")
        if not LEAST_QUOTA_US / MOST_PERIOD_US <= share < float("inf"):
            raise ValueError(f"a share must be at least {LEAST_QUOTA_US / MOST_PERIOD_US:g} cores; got {share:g}")
        if share * period_us < LEAST_QUOTA_US:
            period_us = min(MOST_PERIOD_US, round(LEAST_QUOTA_US / share))
        quota_us = max(LEAST_QUOTA_US, round(share * period_us))
        return cls(quota_us, period_us, min(burst_us, quota_us))
