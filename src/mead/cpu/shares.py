"""The interface of share managers, and the manager that only remembers shares."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

from mead.cpu.limit import BURST_US, PERIOD_US, Limit

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class CpuUsage:
    """CPU time of an operator's workers, live and ended, since their group was made.

    >>> now, before = CpuUsage(5.0, 300, 120, 1.5), CpuUsage(4.5, 250, 100, 1.25)
    >>> now.since(before)
    CpuUsage(cpu_s=0.5, periods=50, throttled_periods=20, throttled_s=0.25)
    """

    cpu_s: float
    """CPU time used."""
    periods: int
    """Periods in which a worker was ready to run."""
    throttled_periods: int
    """Periods in which the quota ran out."""
    throttled_s: float
    """Time throttled, summed over CPUs: it can grow faster than the clock."""

    def since(self, earlier: CpuUsage) -> CpuUsage:
        """Return the difference to an earlier reading."""
        return CpuUsage(
            self.cpu_s - earlier.cpu_s,
            self.periods - earlier.periods,
            self.throttled_periods - earlier.throttled_periods,
            self.throttled_s - earlier.throttled_s,
        )


class ShareManager(Protocol):
    """Limits the workers of every operator to a CPU share, once a share is set."""

    def set_share(self, operator: str, share: float) -> None:
        """Limit all workers of the operator together to this many cores (``Resources.cores``)."""

    def weigh(self, processes: int) -> None:
        """Let all operators together compete for the CPUs like this many processes. Default: one per operator."""

    def usage(self, operator: str) -> CpuUsage | None:
        """Read the CPU time used and throttled; None where nothing is measured."""

    def group(self, operator: str) -> str:
        """Return the group that a worker passes to ``join_group``, fit for an environment variable."""

    def processes(self, operator: str) -> tuple[int, ...]:
        """Return the process ids of the workers that have joined."""

    def close(self) -> None:
        """Lift every limit and remove the groups. Processes live on, unlimited."""


class DryRunShares:
    """Accepts the same calls as a real manager and changes nothing: to observe and advise.

    >>> shares = DryRunShares(["parser", "matcher"])
    >>> shares.set_share("matcher", 0.4)
    >>> dict(shares.shares)
    {'matcher': 0.4}
    """

    def __init__(self, operators: Sequence[str], *, period_us: int = PERIOD_US, burst_us: int = BURST_US) -> None:
        self._operators = tuple(operators)
        self._period_us, self._burst_us = period_us, burst_us
        self._shares: dict[str, float] = {}

    @property
    def shares(self) -> Mapping[str, float]:
        """The last share of every operator that has one."""
        return MappingProxyType(self._shares)

    def set_share(self, operator: str, share: float) -> None:
        """Remember the share."""
        Limit.of(share, self._period_us, self._burst_us)  # refuse the shares that a real manager refuses
        self._shares[self._check(operator)] = share

    def weigh(self, processes: int) -> None:
        """Do nothing: no process competes under this manager."""

    def usage(self, operator: str) -> None:
        """Return None: nothing is measured."""
        self._check(operator)

    def group(self, operator: str) -> str:
        """Return an empty name: there is no group to join."""
        self._check(operator)
        return ""

    def processes(self, operator: str) -> tuple[int, ...]:
        """Return no processes: none can join."""
        self._check(operator)
        return ()

    def close(self) -> None:
        """Do nothing: no group was made."""

    def _check(self, operator: str) -> str:
        if operator not in self._operators:
            raise ValueError(f"no operator {operator!r}; there are {', '.join(self._operators)}")
        return operator


@contextmanager
def closing_shares(shares: ShareManager, warn: Callable[[str], None] = log.warning) -> Iterator[ShareManager]:
    """Close the shares at the end.

    Only warn about a group that cannot be removed, so that a run's results count.
    """
    try:
        yield shares
    finally:
        try:
            shares.close()
        except OSError as error:
            warn(
                f"cannot remove {error.filename or 'a control group'} ({error.strerror or error}): "
                "it has no limit any more, and the next run removes it once its processes have ended"
            )
