"""Shares by control groups, version 2: ``cpu.max`` for limits, ``cpu.stat`` for accounts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mead.cpu.application_group import ApplicationGroup
from mead.cpu.cgroup import CgroupShares
from mead.cpu.control_file import read_counters, write
from mead.cpu.limit import BURST_US, PERIOD_US, Limit
from mead.cpu.shares import CpuUsage


class CgroupV2Shares(CgroupShares):
    """``base`` is the group below which ours are made. It must have the cpu controller and be able to pass it down."""

    burst_file = "cpu.max.burst"
    weight_file, weight, most_weight = "cpu.weight", 100, 10_000

    def __init__(
        self, base: Path, operators: Sequence[str], *, period_us: int = PERIOD_US, burst_us: int = BURST_US
    ) -> None:
        super().__init__(
            [ApplicationGroup(base, operators, "cpu")], len(operators), period_us=period_us, burst_us=burst_us
        )

    def usage(self, operator: str) -> CpuUsage:
        """CPU time used and throttled, read now."""
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
