"""What the benchmarks share: tables of figures, and the cost of the first call in a fresh process."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

from rich.table import Table


def table(title: str, *columns: str) -> Table:
    """A table whose first column is text and whose others are figures."""
    result = Table(*columns[:1], title=title, title_justify="left")
    for column in columns[1:]:
        result.add_column(column, justify="right")
    return result


def fresh_process_table(title: str, code: str, *columns: str, arguments: tuple[str, ...] = ()) -> Table:
    """What ``code``, which prints seconds, says in a fresh process: with nothing compiled yet, and again after that."""
    result = table(title, "cache of compiled code", *columns)
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | {"NUMBA_CACHE_DIR": cache}
        for state in ("empty (cold compile)", "filled by the run before"):
            command = [sys.executable, "-c", code, *arguments]
            run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)  # noqa: S603
            result.add_row(state, *(f"{float(seconds):.2f}" for seconds in run.stdout.split()))
    return result
