"""Where this machine keeps its control groups, by ``/proc/self/mountinfo``."""

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
    """Of a version 1 hierarchy; those of version 2 stand in a file inside."""

    read_only: bool


def cgroup_mounts(mountinfo: Path = MOUNTINFO) -> tuple[Mount, ...]:
    """All hierarchies, none where there is no such file."""
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
    """Spaces and the like are written as octal numbers."""
    return re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), path)
