"""Detect, by trying, which share manager this machine allows, or why none."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal, Protocol

from mead.cpu.cgroup import CgroupV1Shares, CgroupV2Shares
from mead.cpu.limit import BURST_US, PERIOD_US
from mead.cpu.shares import DryRunShares, ShareManager

MOUNTINFO = Path("/proc/self/mountinfo")


class Opener(Protocol):
    """Makes a share manager for some operators."""

    def __call__(
        self, operators: Sequence[str], *, period_us: int = PERIOD_US, burst_us: int = BURST_US
    ) -> ShareManager:
        """Make the manager."""


@dataclass(frozen=True)
class Detection:
    """Share manager that this machine allows. With ``kind`` "none" shares can be advised, but not set."""

    kind: Literal["v1", "v2", "none"]
    reason: str
    """The place of the groups, or the obstacle, in one line."""
    remedy: str = ""
    """The way around the obstacle."""
    open: Opener = DryRunShares
    """Makes the manager; a dry run with ``kind`` "none"."""

    def __str__(self) -> str:
        return f"{self.reason}; {self.remedy}" if self.remedy else self.reason


@dataclass(frozen=True)
class Mount:
    """A mounted hierarchy of control groups."""

    path: Path
    version: int
    controllers: frozenset[str]
    """The controllers of a version 1 hierarchy. Version 2 lists them in a file inside the mount."""
    read_only: bool


def list_mounts(mountinfo: Path = MOUNTINFO) -> tuple[Mount, ...]:
    """Return all hierarchies of control groups; none if the file is missing."""
    if not mountinfo.exists():
        return ()
    # A mount per line: id, parent, device, root, mount point, options, optional fields, dash, type, source, options.
    lines = (line.partition(" - ") for line in mountinfo.read_text().splitlines())
    found = ((before.split(), after.split()) for before, _, after in lines)
    return tuple(
        Mount(
            path=Path(_unescape(mount[4])),
            version=2 if kind[0] == "cgroup2" else 1,
            controllers=frozenset(kind[-1].split(",")),
            read_only="ro" in mount[5].split(",") or "ro" in kind[-1].split(","),
        )
        for mount, kind in found
        if kind and kind[0] in {"cgroup", "cgroup2"}
    )


def _unescape(path: str) -> str:
    """Decode octal escapes, in which mountinfo writes spaces and the like."""
    return re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), path)


def detect(mountinfo: Path = MOUNTINFO) -> Detection:
    """Try the hierarchy that has the cpu controller. The kernel attaches a controller to only one."""
    mounts = list_mounts(mountinfo)
    v1 = {name: mount for mount in mounts if mount.version == 1 for name in mount.controllers}
    v2 = next((mount for mount in mounts if mount.version == 2), None)
    if "cpu" in v1:
        if "cpuacct" not in v1:
            return _none(
                "cgroup v1 has the cpu controller but cpuacct is not mounted", "mount it: mount -t cgroup -o cpuacct"
            )
        cpu, accounts = v1["cpu"], v1["cpuacct"]
        return _try("v1", (cpu, accounts), partial(CgroupV1Shares, cpu.path, accounts.path))
    if v2 is None:
        return _none("no control groups are mounted here", "run on Linux, with /sys/fs/cgroup mounted")
    base = v2.path
    try:
        controllers = (base / "cgroup.controllers").read_text().split()
    except OSError as error:
        return _explain((v2,), error)
    if "cpu" not in controllers:
        return _none(
            f"the cpu controller is missing in {base}",
            "have the host pass it down: Delegate=cpu in systemd, or +cpu in the parent's cgroup.subtree_control",
        )
    return _try("v2", (v2,), partial(CgroupV2Shares, base))


def _try(kind: Literal["v1", "v2"], mounts: tuple[Mount, ...], manager: Opener) -> Detection:
    """Make a group, set a share, read it back and remove it: in a container, permissions alone do not tell."""
    try:
        with closing(manager(["probe"])) as shares:
            shares.set_share("probe", 1.0)
            shares.usage("probe")
    except OSError as error:
        return _explain(mounts, error)
    places = " and ".join(sorted({str(mount.path) for mount in mounts}))
    return Detection(kind, f"cgroup {kind} in {places}", open=manager)


def _explain(mounts: tuple[Mount, ...], error: OSError) -> Detection:
    """Explain the kernel's refusal and name a remedy."""
    where = error.filename or mounts[0].path
    read_only = next((mount for mount in mounts if mount.read_only), None)
    if error.errno == errno.EROFS or read_only:
        place = read_only.path if read_only else where
        return _none(
            f"{place} is read-only",
            "in a container, mount it writable (docker run --privileged, or -v /sys/fs/cgroup:/sys/fs/cgroup:rw)",
        )
    if error.errno in {errno.EACCES, errno.EPERM}:
        if os.geteuid() != 0:
            return _none(f"not root: user {os.geteuid()} may not write {where}", "run as root (sudo)")
        return _none(f"root may not write {where} here", "in a container, start it privileged")
    if error.errno == errno.EBUSY:
        return _none(
            f"{mounts[0].path} itself holds processes, so cgroup v2 cannot divide it",
            "move them into a group below it first (systemd: DelegateSubgroup=)",
        )
    if error.errno == errno.ENOENT:
        return _none(f"the kernel does not offer {where}", "use one built with CONFIG_CFS_BANDWIDTH")
    return _none(f"{where}: {error.strerror}", "see docs/explanation/shares.md")


def _none(reason: str, remedy: str) -> Detection:
    return Detection("none", reason, remedy)
