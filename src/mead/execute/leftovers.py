"""What an application that was killed has left behind: empty groups. The next one to start removes them."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from mead.execute.control_file import read_processes
from mead.execute.names import is_operator_folder, owner_of


@dataclass(frozen=True)
class Leftovers:
    """Applications' groups of owners that are gone."""

    removed: tuple[Path, ...] = ()
    occupied: tuple[Path, ...] = ()
    """Left alone, since a process lives in them."""


def remove_leftovers(base: Path) -> Leftovers:
    """Remove groups below ``base`` that carry our name, whose owner is gone, and in which no process lives.

    Nothing else is touched: the kernel refuses to remove a group with a process or a group of someone else in it.
    """
    removed: list[Path] = []
    occupied: list[Path] = []
    for group in _groups(base):
        owner = owner_of(group.name)
        if owner is None or not owner.is_gone():
            continue
        (removed if _removed(group) else occupied).append(group)
    return Leftovers(tuple(removed), tuple(occupied))


def _removed(group: Path) -> bool:
    """Whether it is gone now, by our hand or by that of another who started at the same time."""
    operators = [inside for inside in _groups(group) if is_operator_folder(inside.name)]
    try:
        if any(read_processes(folder) for folder in (*operators, group)):
            return False
        for folder in (*operators, group):
            os.rmdir(folder)  # noqa: PTH106 - one call, whose refusal is the answer
    except OSError:
        return not group.exists()
    return True


def _groups(base: Path) -> list[Path]:
    """The groups directly inside, without symbolic links."""
    with suppress(FileNotFoundError):
        return sorted(entry for entry in base.iterdir() if entry.is_dir() and not entry.is_symlink())
    return []
