"""A folder belongs to one run at a time: two would take each other's files for what a crash has left."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mead.spark.pipeline.operators import OperatorError

LOCK = "lock"


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Have a folder alone while the block lasts. Raises OperatorError if somebody else has it.

    The system lets go of it when this process ends, however it ends: a run that was killed can go on.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / LOCK).open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OperatorError(f"{folder}: another run is at work in it; wait for its end, or name another") from None
        yield
