"""Settings of runs under test: they warm up in a few micro-batches, and nothing ends them because they are late.

Run as a program, this is ``mead`` with these settings, or ``python -m experiments`` if the first word says so.
"""

from __future__ import annotations

import sys

from experiments.commands import app as experiments
from experiments.live import comparison as live_comparison
from tests.waiting import PATIENCE_S

from mead.cli import app
from mead.spark.pipeline import run, running

HURRIED = (
    (running, "LANDING_S", 1),
    (running, "WARM_BATCHES", 3),
    (live_comparison, "CALIBRATION_S", 2.0),
    (run, "DRAIN_LIMIT_S", PATIENCE_S),
    (run, "LAST_ROUND_S", PATIENCE_S),
    (run, "WARM_UP_LIMIT_S", PATIENCE_S),
)
"""Modules, names of constants, and their values in tests."""


def hurry() -> None:
    """Change the settings of this process for good."""
    for module, name, value in HURRIED:
        setattr(module, name, value)


if __name__ == "__main__":
    hurry()
    if sys.argv[1:2] == ["experiments"]:
        del sys.argv[1]
        experiments(prog_name="python -m experiments")
    else:
        app(prog_name="mead")
