from __future__ import annotations

from collections.abc import Callable

import pytest

from mead.arrays import FloatArray
from mead.testing import readings
from mead.values import Observation, Pipeline

INTERVAL_S = readings.INTERVAL_S

Observer = Callable[..., Observation]
Describer = Callable[..., Pipeline]


@pytest.fixture(scope="session")
def log_analysis() -> Describer:
    return readings.log_analysis


@pytest.fixture(scope="session")
def bursty() -> FloatArray:
    return readings.bursty()


@pytest.fixture(scope="session")
def observed() -> Observer:
    return readings.observed
