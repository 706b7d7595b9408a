"""What the checkpoint of a query says of its micro-batches.

A query that was restarted reports nothing until it has something to do. But its checkpoint knows how far it had come:
Spark writes down the offsets of every micro-batch before it begins, and after it that it is done.
"""

from __future__ import annotations

import json
from pathlib import Path

from mead.spark.telemetry.progress import Done, offset

OFFSETS, COMMITS = "offsets", "commits"


def begun(checkpoint: Path) -> int:
    """The number of the last micro-batch that was begun; -1 if there was none."""
    return _last(checkpoint / OFFSETS)


def last_done(checkpoint: Path) -> Done | None:
    """The last micro-batch that is done; None if there is none."""
    batch = _last(checkpoint / COMMITS)
    if batch < 0:
        return None
    # A version, settings, and one line for each source; queries of a pipeline have one.
    source = (checkpoint / OFFSETS / str(batch)).read_text().splitlines()[2]
    return Done(batch, offset(json.loads(source)))


def _last(log: Path) -> int:
    """The highest number among file names; checksums and files that are still being written lie beside them."""
    return max((int(file.name) for file in log.glob("[0-9]*") if file.name.isdigit()), default=-1)
