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

ON_SPARK = (
    "tests/cli/test_characterize.py",
    "tests/cli/test_live",
    "tests/cli/test_preference.py::test_a_folder_is_answered_window_by_window",
    "tests/docs/test_snippets.py::test_page_does_what_it_says_on_spark",
    "tests/spark/",
)
"""Tests that start Spark, in programs of their own or in one session that they share. They take longest."""


SITE = "tests/docs/test_site.py"
"""The longest of the rest: all pages are made, with those of all modules."""


class SparkApart(LoadScopeScheduling):  # type: ignore[misc]  # it has no types
    """One process begins with Spark; of the rest, files go whole to who is free.

    Two Sparks at a time would be late for each other's tests on two cores.
    """

    def _split_scope(self, nodeid: str) -> str:
        return "spark" if nodeid.startswith(ON_SPARK) else nodeid.partition("::")[0]


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> SparkApart:
    """With ``-n``."""
    return SparkApart(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes longest begins first."""
    longest = (ON_SPARK, SITE)
    items.sort(key=lambda item: [not item.nodeid.startswith(some) for some in longest])
