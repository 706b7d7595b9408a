from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.paths import vectors

from mead.queueing import UnstableLoop, arrival_rates, loop_gain

TRAFFIC = vectors("drs.json")["traffic"]


@pytest.mark.parametrize("case", TRAFFIC, ids=lambda case: str(case["id"]))
def test_rates_are_those_of_the_vectors(case: dict[str, Any]) -> None:
    expected = case["expected"]
    if "error" in expected:
        with pytest.raises(UnstableLoop) as refused:
            arrival_rates(case["G"], case["gamma"])
        assert refused.value.gain == pytest.approx(expected["spectral_radius"], rel=1e-9)
    else:
        assert arrival_rates(case["G"], case["gamma"]) == pytest.approx(expected["lambda_i"], rel=1e-9)


@given(st.lists(st.floats(0.0, 0.3), min_size=9, max_size=9), st.lists(st.floats(0.0, 100.0), min_size=3, max_size=3))
def test_a_network_passes_on_what_it_gets(gains: list[float], external: list[float]) -> None:
    """Powers of the gains follow every tuple step by step: a sum that must come to the same."""
    matrix = np.array(gains).reshape(3, 3)
    step = total = np.array(external)
    for _ in range(400):
        step = step @ matrix
        total = total + step
    assert arrival_rates(matrix, external) == pytest.approx(total, rel=1e-9, abs=1e-9)


def test_a_loop_that_returns_everything_is_unstable() -> None:
    assert loop_gain([[0.0, 1.0], [1.0, 0.0]]) == pytest.approx(1.0)
    with pytest.raises(UnstableLoop):
        arrival_rates([[0.0, 2.0], [0.5, 0.0]], [1.0, 0.0])


def test_a_loop_that_returns_everything_is_unstable_whatever_is_rounded() -> None:
    """0.7, 0.2, 1/0.126 and 0.9 round about: the spectral radius comes out as 1 - 1e-16, and the equations singular."""
    circle = np.zeros((4, 4))
    circle[[0, 2, 1, 3], [2, 1, 3, 0]] = 0.7, 0.2, 1 / (0.7 * 0.2 * 0.9), 0.9
    assert loop_gain(circle) < 1
    with pytest.raises(UnstableLoop):
        arrival_rates(circle, [1.0, 0.0, 0.0, 0.0])


def test_gains_of_another_size_are_refused() -> None:
    with pytest.raises(ValueError, match="as many rows and columns"):
        arrival_rates([[0.0, 1.0]], [1.0, 2.0])
