"""What every manager of CPU shares can do, and what it reads back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class CpuUsage:
    """What an operator's workers, including those that have ended, have used and missed since their group was made.

    >>> now, before = CpuUsage(5.0, 300, 120, 1.5), CpuUsage(4.5, 250, 100, 1.25)
    >>> now.since(before)
    CpuUsage(cpu_s=0.5, periods=50, throttled_periods=20, throttled_s=0.25)
    """

    cpu_s: float
    """CPU time of all its workers."""

    periods: int
    """Periods in which there was something to run."""

    throttled_periods: int
    """Those in which the quota was used up before the period ended."""

    throttled_s: float
    """How long workers were ready to run but throttled, summed over CPUs; so it can grow faster than time."""

    def since(self, earlier: CpuUsage) -> CpuUsage:
        """What was added since an earlier reading."""
        return CpuUsage(
            self.cpu_s - earlier.cpu_s,
            self.periods - earlier.periods,
            self.throttled_periods - earlier.throttled_periods,
            self.throttled_s - earlier.throttled_s,
        )


class ShareManager(Protocol):
    """Holds the workers of every operator to a CPU share. Until a share is set, there is no limit."""

    def set_share(self, operator: str, share: float) -> None:
        """Limit all workers of the operator together to so many cores: ``Resources.cores`` of an allocation."""

    def weigh(self, processes: int) -> None:
        """Let all operators together compete for the CPUs like this many processes. The default is one per operator."""

    def usage(self, operator: str) -> CpuUsage | None:
        """CPU time used and throttled, read now; None where nothing is measured."""

    def group(self, operator: str) -> str:
        """The name of the group, which a worker passes to ``join_group``; it fits into an environment variable."""

    def processes(self, operator: str) -> tuple[int, ...]:
        """Process ids of the workers that have joined."""

    def close(self) -> None:
        """Lift every limit and leave nothing behind. Processes live on, unlimited."""
