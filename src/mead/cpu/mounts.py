"""Where this machine keeps its control groups, according to ``/proc/self/mountinfo``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

MOUNTINFO = Path("/proc/self/mountinfo")


@dataclass(frozen=True)
class Mount:
    """One hierarchy of control groups."""

    path: Path
    version: int
    controllers: frozenset[str]
    """The controllers of a version 1 hierarchy. Version 2 lists its own in a file inside the mount."""

    read_only: bool


def cgroup_mounts(mountinfo: Path = MOUNTINFO) -> tuple[Mount, ...]:
    """All hierarchies of control groups; none if the file is missing."""
    if not mountinfo.exists():
        return ()
    # A mount per line: id, parent, device, root, mount point, options, optional fields, dash, type, source, options.
    lines = (line.partition(" - ") for line in mountinfo.read_text().splitlines())
    found = ((before.split(), after.split()) for before, _, after in lines)
    return tuple(
        Mount(
            path=Path(_unescaped(mount[4])),
            version=2 if kind[0] == "cgroup2" else 1,
            controllers=frozenset(kind[-1].split(",")),
            read_only="ro" in mount[5].split(",") or "ro" in kind[-1].split(","),
        )
        for mount, kind in found
        if kind and kind[0] in {"cgroup", "cgroup2"}
    )


def _unescaped(path: str) -> str:
    """Decode the octal escapes in which spaces and the like are written."""
    return re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), path)
