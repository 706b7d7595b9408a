"""A number in a file that others read while it is replaced."""

from __future__ import annotations

import os
from pathlib import Path


def number_in(path: Path, missing: int | None = None) -> int:
    """The number that was put there last. A missing file is an error, unless ``missing`` says what it means."""
    try:
        return int(path.read_text())
    except FileNotFoundError:
        if missing is None:
            raise
        return missing


def put_number(path: Path, number: int) -> None:
    """Replace the number at once: whoever reads it sees the old or the new one."""
    new = path.with_name(f".{path.name}.{os.getpid()}")
    new.write_text(str(number))
    new.rename(path)
