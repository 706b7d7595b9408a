"""What an application that was killed has left behind: empty groups. The next one to start removes them."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from mead.cpu.control_file import read_processes
from mead.cpu.names import is_operator_folder, owner_of


def remove_leftovers(base: Path) -> None:
    """Remove groups below ``base`` that carry our name, whose owner is gone, and in which no process lives.

    Nothing else is touched: the kernel refuses to remove a group that holds a process or somebody else's group. If
    another application starts at the same time and removes a group first, that is fine too.
    """
    for group in _groups(base):
        owner = owner_of(group.name)
        if owner is None or not owner.is_gone():
            continue
        operators = [inside for inside in _groups(group) if is_operator_folder(inside.name)]
        with suppress(OSError):
            if not any(read_processes(folder) for folder in (*operators, group)):
                for folder in (*operators, group):
                    os.rmdir(folder)  # noqa: PTH106 - one call, whose refusal is the answer


def _groups(base: Path) -> list[Path]:
    """The groups directly inside this one, without symbolic links."""
    with suppress(FileNotFoundError):
        return sorted(entry for entry in base.iterdir() if entry.is_dir() and not entry.is_symlink())
    return []
