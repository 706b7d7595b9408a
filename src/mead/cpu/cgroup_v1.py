"""Shares by control groups, version 1: ``cpu.cfs_quota_us`` for limits, ``cpuacct.usage`` for accounts.

The two controllers are one hierarchy on most machines and two on some; a worker has to join both then.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mead.cpu.application_group import ApplicationGroup
from mead.cpu.cgroup import CgroupShares
from mead.cpu.control_file import read, read_counters, write
from mead.cpu.limit import BURST_US, PERIOD_US, Limit
from mead.cpu.shares import CpuUsage


class CgroupV1Shares(CgroupShares):
    """``cpu`` and ``accounts`` are groups in the hierarchies of these controllers; ours are made below them."""

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
        """CPU time used and throttled, read now."""
        stat = read_counters(self._groups[0][operator] / "cpu.stat")
        return CpuUsage(
            cpu_s=int(read(self._accounts[operator] / "cpuacct.usage")) * 1e-9,
            periods=stat["nr_periods"],
            throttled_periods=stat["nr_throttled"],
            throttled_s=stat["throttled_time"] * 1e-9,
        )

    def _write_quota(self, folder: Path, limit: Limit, before: Limit | None) -> None:
        """Write the quota. The period has a file of its own, written only when it changes."""
        if before is None or limit.period_us != before.period_us:
            write(folder / "cpu.cfs_period_us", str(limit.period_us))
        write(folder / "cpu.cfs_quota_us", str(limit.quota_us))

    def _lift_quota(self, folder: Path) -> None:
        write(folder / "cpu.cfs_quota_us", "-1")
