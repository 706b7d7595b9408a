"""``mead`` with the settings of tests, but it waits only a moment for operators that do not work."""

from __future__ import annotations

from tests.spark.hurried import hurry

from mead.cli import app
from mead.spark.pipeline import run

if __name__ == "__main__":
    hurry()
    run.DRAIN_LIMIT_S = run.WARM_UP_LIMIT_S = 2.0
    app(prog_name="mead")
