"""Dominance factors against their definition, over all tuples and not only over the skyline."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.preference.conftest import brute_factor, brute_skyline, points

from mead.arrays import FloatArray
from mead.preference.kernels.block_nested_loop import nested_loop_factors
from mead.preference.kernels.dominance import PreferenceError
from mead.preference.kernels.skyline import skyline
from mead.preference.kernels.top_delta import dominance_factors, top_delta


def with_factors(rows: FloatArray) -> list[tuple[tuple[float, ...], int]]:
    best = rows[skyline(rows)]
    return sorted(zip(map(tuple, best.tolist()), dominance_factors(best).tolist(), strict=True))


def brute(rows: FloatArray) -> list[tuple[tuple[float, ...], int]]:
    return sorted((tuple(rows[i].tolist()), brute_factor(rows, rows[i])) for i in brute_skyline(rows))


@given(points())
def test_factors_are_those_of_the_definition(rows: FloatArray) -> None:
    assert with_factors(rows) == brute(rows)


@given(points())
def test_the_nested_loop_keeps_the_same_factors(rows: FloatArray) -> None:
    answer = nested_loop_factors(rows)
    assert sorted(zip(map(tuple, rows[answer.rows].tolist()), answer.factors.tolist(), strict=True)) == brute(rows)


@given(points(), st.integers(1, 12))
def test_the_answer_is_delta_tuples_of_the_smallest_sufficient_k(rows: FloatArray, delta: int) -> None:
    answer = top_delta(rows, delta)
    factors = [factor for _, factor in brute(rows)]
    assert len(answer.rows) == min(delta, len(factors))
    chosen = sorted(brute_factor(rows, rows[i]) for i in answer.rows)
    assert chosen == sorted(factors)[:delta]
    if factors:
        assert answer.size == sum(factor < answer.k for factor in factors) >= len(answer.rows)
        assert sum(factor < answer.k - 1 for factor in factors) < min(delta, len(factors))


def test_large_samples_agree_with_the_nested_loop() -> None:
    rng = np.random.default_rng(3)
    for rows in (rng.random((3000, 8)), rng.integers(0, 9, (3000, 8)).astype(float)):
        slow = nested_loop_factors(rows)
        expected = sorted(zip(map(tuple, rows[slow.rows].tolist()), slow.factors.tolist(), strict=True))
        assert with_factors(rows) == expected


def test_nobody_can_ask_for_less_than_one() -> None:
    with pytest.raises(PreferenceError, match="at least 1"):
        top_delta(np.ones((1, 2)), 0)
