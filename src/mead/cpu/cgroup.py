"""CPU shares by control groups of the kernel, versions 1 and 2."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from mead.cpu.application_group import ApplicationGroup
from mead.cpu.control_file import read, read_counters, read_processes, write
from mead.cpu.limit import BURST_US, PERIOD_US, Limit
from mead.cpu.shares import CpuUsage


class CgroupShares(ABC):
    """One group per operator, in one hierarchy or two; the first one holds the limits."""

    burst_file: str
    weight_file: str
    weight: int
    """The weight of one ordinary process in the competition for the CPUs."""
    most_weight: int

    def __init__(self, groups: Sequence[ApplicationGroup], operators: int, *, period_us: int, burst_us: int) -> None:
        self._groups = tuple(groups)
        self._period_us, self._burst_us = period_us, burst_us
        self._limits: dict[str, Limit] = {}
        # A group competes like a single process with everything outside it, such as the threads of a JVM. So the
        # application's group gets the weight of its operators: only a limit may slow a worker down.
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
        """Read the CPU time used and throttled."""

    @abstractmethod
    def _write_quota(self, folder: Path, limit: Limit, before: Limit | None) -> None:
        """Make the kernel enforce this quota and period."""

    @abstractmethod
    def _lift_quota(self, folder: Path) -> None:
        """Remove the quota, so that the group has no limit."""

    def set_share(self, operator: str, share: float) -> None:
        """Set the share with one write to one file, or none if it is unchanged; the first time takes a few more."""
        folder, limit = self._groups[0][operator], Limit.of(share, self._period_us, self._burst_us)
        before = self._limits.get(operator)
        if limit == before:
            return  # a write would refill the quota of the running period
        # The kernel refuses a burst above the quota, so a smaller burst is written first and a larger one last.
        burst_us = before.burst_us if before else 0
        if limit.burst_us < burst_us:
            self._write_burst(folder, limit)
        self._write_quota(folder, limit, before)
        if limit.burst_us > burst_us:
            self._write_burst(folder, limit)
        self._limits[operator] = limit

    def _write_burst(self, folder: Path, limit: Limit) -> None:
        """Write the burst, if the kernel has a file for it (5.14 or newer)."""
        if (folder / self.burst_file).exists():
            write(folder / self.burst_file, str(limit.burst_us))

    def group(self, operator: str) -> str:
        """Return the folders that a worker joins, separated as in PATH."""
        return os.pathsep.join(str(group[operator]) for group in self._groups)

    def processes(self, operator: str) -> tuple[int, ...]:
        """Return the process ids of the workers that have joined."""
        return read_processes(self._groups[0][operator])

    def close(self) -> None:
        """Lift the limits and remove the groups. Live processes move back to the parent group.

        Cgroup v2 may refuse that move. The group then stays until its processes end, without a limit.
        """
        with ExitStack() as removals:  # even if one fails, the others are tried
            for group in self._groups:
                removals.callback(group.remove)
            for operator in self._limits:
                if (folder := self._groups[0][operator]).exists():
                    removals.callback(self._lift_quota, folder)
            self._limits = {}


class CgroupV1Shares(CgroupShares):
    """Version 1: ``cpu.cfs_quota_us`` holds limits, ``cpuacct.usage`` accounts.

    ``cpu`` and ``accounts`` are groups in the hierarchies of these two controllers, which are one on most machines and
    two on some. A worker then joins both.
    """

    burst_file = "cpu.cfs_burst_us"
    weight_file, weight, most_weight = "cpu.shares", 1024, 262_144

    def __init__(
        self,
        cpu: Path,
        accounts: Path,
        operators: Sequence[str],
        *,
        period_us: int = PERIOD_US,
        burst_us: int = BURST_US,
    ) -> None:
        limits = ApplicationGroup(cpu, operators)
        try:
            self._accounts = limits if cpu.samefile(accounts) else ApplicationGroup(accounts, operators)
        except OSError:
            limits.remove()
            raise
        super().__init__(
            tuple(dict.fromkeys((limits, self._accounts))), len(operators), period_us=period_us, burst_us=burst_us
        )

    def usage(self, operator: str) -> CpuUsage:
        """Read the CPU time used and throttled."""
        stat = read_counters(self._groups[0][operator] / "cpu.stat")
        return CpuUsage(
            cpu_s=int(read(self._accounts[operator] / "cpuacct.usage")) * 1e-9,
            periods=stat["nr_periods"],
            throttled_periods=stat["nr_throttled"],
            throttled_s=stat["throttled_time"] * 1e-9,
        )

    def _write_quota(self, folder: Path, limit: Limit, before: Limit | None) -> None:
        """Write the quota, and the period if it changed, which has its own file."""
        if before is None or limit.period_us != before.period_us:
            write(folder / "cpu.cfs_period_us", str(limit.period_us))
        write(folder / "cpu.cfs_quota_us", str(limit.quota_us))

    def _lift_quota(self, folder: Path) -> None:
        write(folder / "cpu.cfs_quota_us", "-1")


class CgroupV2Shares(CgroupShares):
    """Version 2: ``cpu.max`` holds limits, ``cpu.stat`` accounts.

    Our groups are made below ``base``, which must have the cpu controller and be able to pass it down.
    """

    burst_file = "cpu.max.burst"
    weight_file, weight, most_weight = "cpu.weight", 100, 10_000

    def __init__(
        self, base: Path, operators: Sequence[str], *, period_us: int = PERIOD_US, burst_us: int = BURST_US
    ) -> None:
        super().__init__(
            [ApplicationGroup(base, operators, "cpu")], len(operators), period_us=period_us, burst_us=burst_us
        )

    def usage(self, operator: str) -> CpuUsage:
        """Read the CPU time used and throttled."""
        stat = read_counters(self._groups[0][operator] / "cpu.stat")
        return CpuUsage(
            cpu_s=stat["usage_usec"] * 1e-6,
            periods=stat["nr_periods"],
            throttled_periods=stat["nr_throttled"],
            throttled_s=stat["throttled_usec"] * 1e-6,
        )

    def _write_quota(self, folder: Path, limit: Limit, before: Limit | None) -> None:
        """Write quota and period, which are one value here."""
        del before
        write(folder / "cpu.max", f"{limit.quota_us} {limit.period_us}")

    def _lift_quota(self, folder: Path) -> None:
        write(folder / "cpu.max", "max")
