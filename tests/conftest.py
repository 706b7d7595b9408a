"""What all tests share."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

# Set before a test imports NumPy: the matrices are small, and more BLAS threads only get in each other's way.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

# The same examples in every run, so that a red run can be repeated. No deadline: a first call may compile.
settings.register_profile("mead", derandomize=True, deadline=None)
settings.load_profile("mead")

ON_SPARK = ("tests/spark/", "tests/cli/test_characterize.py", "tests/cli/test_live.py", "tests/docs/test_snippets.py")
"""Tests that start Spark. One Java machine at a time: two would take the cores from each other's measurements."""


class SparkApart(LoadScopeScheduling):  # type: ignore[misc]  # it has no types
    """One process takes all that runs on Spark and begins with it; of the rest, files go whole to the others."""

    def _split_scope(self, nodeid: str) -> str:
        return "spark" if nodeid.startswith(ON_SPARK) else nodeid.partition("::")[0]


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> SparkApart:
    """With ``-n``."""
    return SparkApart(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes longest begins first."""
    items.sort(key=lambda item: not item.nodeid.startswith(ON_SPARK))
