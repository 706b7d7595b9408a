from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.paths import vectors

from mead.arrays import FloatArray
from mead.queueing import BLOCK, MAP, acf, alias_table

VECTORS = vectors("map_moments.json")["maps"]

weights = st.tuples(st.integers(1, 4), st.integers(1, 33)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.sampled_from([0.0, 1e-12, 0.1, 1 / 3, 1.0, 7.0, 1e9]))
)


def table_probabilities(keep: FloatArray, other: Any) -> FloatArray:
    """The distribution that a table draws from, added up column by column."""
    rows, columns = keep.shape
    drawn = np.zeros((rows, columns))
    for row in range(rows):
        for column in range(columns):
            kept = min(max(keep[row, column], 0.0), 1.0)
            drawn[row, column] += kept / columns
            drawn[row, other[row, column]] += (1 - kept) / columns
    return drawn


@given(weights)
def test_an_alias_table_draws_by_weight_and_never_what_has_none(table: FloatArray) -> None:
    table = table[table.sum(axis=1) > 0]
    drawn = table_probabilities(*alias_table(table))
    assert drawn == pytest.approx(table / table.sum(axis=1, keepdims=True), abs=1e-12)
    assert (drawn[table == 0] == 0).all()


@pytest.mark.parametrize("columns", [3, 7, 10, 49, 64, 1000])
def test_equal_weights_beside_zeros_leave_no_rounding_error_to_draw(columns: int) -> None:
    table = np.where(np.arange(columns) % 3 == 0, 0.1, 0.0)[None, :]
    drawn = table_probabilities(*alias_table(table))
    assert (drawn[table == 0] == 0).all()


@pytest.mark.parametrize("vector", VECTORS, ids=[vector["name"] for vector in VECTORS])
def test_samples_have_the_statistics_of_their_map(vector: dict[str, Any]) -> None:
    process = MAP(vector["D0"], vector["D1"])
    # Many short stationary runs: their scatter is the error of their mean, whatever the correlation within a run.
    rng = np.random.default_rng(7)
    runs = np.array([process.sample(2_000, rng) for _ in range(300)])
    products = np.stack([runs[:, :-1], runs[:, :-1] ** 2, runs[:, :-1] * runs[:, 1:]]).mean(axis=2)
    variance = process.moment(2) - process.moment(1) ** 2
    joint = process.acf([1])[0] * variance + process.moment(1) ** 2
    error = products.std(axis=1, ddof=1) / np.sqrt(runs.shape[0])
    assert (np.abs(products.mean(axis=1) - [process.moment(1), process.moment(2), joint]) < 4.5 * error).all()


def test_correlation_reaches_over_the_blocks_of_random_numbers() -> None:
    # Every arrival changes the phase, so every third IAT is long, without a single exception. (Not every second:
    # blocks have an even size, and a chain that starts afresh in each would look the same.)
    cyclic = MAP(np.diag([-1.0, -1e12, -1e12]), [[0.0, 1.0, 0.0], [0.0, 0.0, 1e12], [1e12, 0.0, 0.0]])
    iats = cyclic.sample(3 * BLOCK + 18, np.random.default_rng(1))
    long = iats.reshape(-1, 3) > 1e-9
    assert (long.sum(axis=1) == 1).all()
    assert (long == long[0]).all()


def test_hidden_transitions_pass_time_without_an_arrival() -> None:
    # Two exponential stages per arrival: an Erlang-2 renewal process.
    stages = MAP([[-2.0, 2.0], [0.0, -2.0]], [[0.0, 0.0], [2.0, 0.0]])
    iats = stages.sample(200_000, np.random.default_rng(3))
    assert iats.mean() == pytest.approx(1.0, abs=4 * np.sqrt(0.5 / iats.size))
    assert iats.var() == pytest.approx(0.5, rel=0.02)
    assert abs(acf(iats, [1])[0]) < 4 / np.sqrt(iats.size)


@pytest.mark.parametrize("count", [0, 1, 2, 255, 256, 257, BLOCK, BLOCK + 1])
def test_a_count_is_met_exactly_and_every_sample_is_a_time(count: int) -> None:
    iats = MAP.two_state(10.0, 50.0).sample(count, np.random.default_rng(1))
    assert iats.shape == (count,)
    assert np.isfinite(iats).all()
    assert (iats > 0).all()


def test_the_same_seed_gives_the_same_samples() -> None:
    process = MAP.two_state(10.0, 50.0)
    first, again, other = (process.sample(1_000, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert (first == again).all()
    assert (first != other).any()


def test_the_first_sample_is_stationary() -> None:
    # Started in the wrong phase, the first IAT of a strongly correlated MAP would have the wrong mean.
    process = MAP.two_state(10.0, 1_000.0)
    rng = np.random.default_rng(5)
    firsts = np.array([process.sample(1, rng)[0] for _ in range(4_000)])
    assert firsts.mean() == pytest.approx(0.1, abs=4 * firsts.std() / np.sqrt(firsts.size))
    assert (firsts > 0.2).mean() == pytest.approx(
        sum(
            chance * np.exp(0.2 * rate)
            for chance, rate in zip(process.arrival_stationary, np.diag(process.D0), strict=True)
        ),
        abs=0.03,
    )
