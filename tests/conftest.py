"""What all tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# Set before a test imports NumPy: the matrices are small, and more BLAS threads only get in each other's way.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

# The same examples in every run, so that a red run can be repeated. No deadline: a first call may compile.
settings.register_profile("mead", derandomize=True, deadline=None)
settings.load_profile("mead")

HERE = Path(__file__).parent
ON_SPARK = ("spark", "cli/test_characterize.py", "cli/test_live.py", "docs/test_snippets.py")
"""Tests that start Spark. One Java machine at a time: two would take the cores from each other's measurements."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One process takes all that runs on Spark and begins with it; files go whole to the others."""
    items.sort(key=lambda item: not _on_spark(item.path))
    for item in items:
        item.add_marker(pytest.mark.xdist_group("spark" if _on_spark(item.path) else str(item.path)))


def _on_spark(path: Path) -> bool:
    return any(path.is_relative_to(HERE / place) for place in ON_SPARK)
