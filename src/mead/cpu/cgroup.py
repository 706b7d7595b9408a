"""Shares by control groups of the kernel: what versions 1 and 2 have in common."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from mead.cpu.application_group import ApplicationGroup
from mead.cpu.control_file import read_processes, write
from mead.cpu.limit import Limit
from mead.cpu.shares import CpuUsage


class CgroupShares(ABC):
    """One group per operator, in one hierarchy or in two; the first one holds the limits."""

    burst_file: str
    weight_file: str
    weight: int
    """The weight of one ordinary process in the competition for the CPUs."""

    most_weight: int

    def __init__(self, groups: Sequence[ApplicationGroup], operators: int, *, period_us: int, burst_us: int) -> None:
        self._groups = tuple(groups)
        self._period_us, self._burst_us = period_us, burst_us
        self._in_force: dict[str, Limit] = {}
        # A group competes like a single process with all that is outside, such as the threads of a JVM. So the
        # application's group is given the weight of its operators: limits may slow a worker down, a group must not.
        try:
            self.weigh(operators)
        except OSError:
            self.close()
            raise

    def weigh(self, processes: int) -> None:
        """Set the weight of the application's group with one write to one file."""
        write(self._groups[0].path / self.weight_file, str(min(self.weight * processes, self.most_weight)))

    @abstractmethod
    def usage(self, operator: str) -> CpuUsage:
        """CPU time used and throttled, read now."""

    @abstractmethod
    def _write_quota(self, folder: Path, limit: Limit, before: Limit | None) -> None:
        """Make the kernel enforce this quota and period."""

    def set_share(self, operator: str, share: float) -> None:
        """Set the share with one write to one file, or none if it is unchanged; the first time takes a few more."""
        folder, limit = self._groups[0][operator], Limit.of(share, self._period_us, self._burst_us)
        before = self._in_force.get(operator)
        if limit == before:
            return  # a write would refill the quota of the running period
        # The kernel refuses a burst above the quota, so one that shrinks goes first and one that grows last.
        burst_us = before.burst_us if before else 0
        if limit.burst_us < burst_us:
            self._write_burst(folder, limit)
        self._write_quota(folder, limit, before)
        if limit.burst_us > burst_us:
            self._write_burst(folder, limit)
        self._in_force[operator] = limit

    def _write_burst(self, folder: Path, limit: Limit) -> None:
        """Write the burst. Kernels before 5.14 have no file for it, and do without."""
        if (folder / self.burst_file).exists():
            write(folder / self.burst_file, str(limit.burst_us))

    def group(self, operator: str) -> str:
        """The directories that a worker joins, separated as in PATH."""
        return os.pathsep.join(str(group[operator]) for group in self._groups)

    def processes(self, operator: str) -> tuple[int, ...]:
        """Process ids of the workers that have joined."""
        return read_processes(self._groups[0][operator])

    @abstractmethod
    def _lift_quota(self, folder: Path) -> None:
        """Remove the quota, so that the group has no limit."""

    def close(self) -> None:
        """Lift the limits and remove the groups. Processes that are still alive are moved back to the parent group.

        Cgroup v2 may not allow that move. A group that still holds a process cannot be removed, but it no longer limits
        anybody.
        """
        with ExitStack() as removals:  # even if one fails, the others are tried
            for group in self._groups:
                removals.callback(group.remove)
            for operator in self._in_force:
                if (folder := self._groups[0][operator]).exists():
                    removals.callback(self._lift_quota, folder)
            self._in_force = {}
