"""Lock the folder of a run."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mead.spark.pipeline.operators import OperatorError

LOCK = "lock"


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Lock a folder during the block. Raises OperatorError if another process has it.

    A second run would remove the files of the first as leftovers of a crash. The system releases the lock when this
    process ends, so a run that was killed can continue.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / LOCK).open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OperatorError(
                f"{folder}: another run uses this folder; wait for its end, or choose another"
            ) from None
        yield
