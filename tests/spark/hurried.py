"""Runs in a hurry: they warm up in a few micro-batches and land their results every second.

Tests look at what comes of a run, and not at how fast it is. As a program this is ``mead`` itself, hurried;
with ``experiments`` as its first word, ``python -m experiments``.
"""

from __future__ import annotations

import sys

from experiments.commands import app as experiments_app
from experiments.live import comparison as live_comparison

from mead.cli import app
from mead.spark.pipeline import running

HURRIED = ((running, "LANDING_S", 1), (running, "WARM_BATCHES", 3), (live_comparison, "CALIBRATION_S", 2.0))
"""Where, what, and what instead."""


def hurry() -> None:
    """For good, in a program that a test has started."""
    for module, name, value in HURRIED:
        setattr(module, name, value)


if __name__ == "__main__":
    hurry()
    if sys.argv[1] == "experiments":
        experiments_app(sys.argv[2:], prog_name="python -m experiments")
    app(prog_name="mead")
