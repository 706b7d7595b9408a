from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mead.arrays import FloatArray
from mead.queueing.markov import communicating_classes, stationary

rates = st.integers(1, 8).flatmap(
    lambda n: arrays(np.float64, (n, n), elements=st.floats(0.01, 100)).map(lambda q: q - np.diag(np.diag(q)))
)


def generator(off_diagonal: FloatArray) -> FloatArray:
    return off_diagonal - np.diag(off_diagonal.sum(axis=1))


@given(rates)
def test_the_stationary_vector_balances_the_flow_into_and_out_of_every_state(off_diagonal: FloatArray) -> None:
    pi = stationary(generator(off_diagonal))
    assert pi.sum() == pytest.approx(1.0)
    assert (pi > 0).all()
    assert pi @ off_diagonal == pytest.approx(pi * off_diagonal.sum(axis=1), rel=1e-12)


@given(rates)
def test_a_chain_and_its_uniformised_form_have_the_same_stationary_vector(off_diagonal: FloatArray) -> None:
    q = generator(off_diagonal)
    stochastic = np.eye(len(q)) + q / (np.abs(q).max() + 1.0)
    assert stationary(stochastic) == pytest.approx(stationary(q), rel=1e-11)


def test_a_birth_death_chain_has_its_product_form() -> None:
    # pi_i is proportional to the product of birth over death rates.
    births, deaths = np.array([3.0, 2.0, 1.0]), np.array([4.0, 5.0, 6.0])
    q = generator(np.diag(births, 1) + np.diag(deaths, -1))
    product = np.cumprod([1.0, *(births / deaths)])
    assert stationary(q) == pytest.approx(product / product.sum(), rel=1e-14)


def test_rates_of_very_different_size_lose_no_digits() -> None:
    q = generator(np.array([[0.0, 1e-12, 0.0], [1.0, 0.0, 1e-12], [0.0, 1e12, 0.0]]))
    expected = np.array([1.0, 1e-12, 1e-36])
    assert stationary(q) == pytest.approx(expected / expected.sum(), rel=1e-14)


def test_the_chain_that_is_given_stays_as_it_is() -> None:
    q = generator(np.ones((3, 3)) - np.eye(3))
    before = q.copy()
    stationary(q)
    assert (q == before).all()


def test_states_that_reach_each_other_form_a_class() -> None:
    two_islands = np.array([[0, 1.0, 0, 0], [1.0, 0, 0, 0], [0, 0, 0, 1.0], [0, 0, 1.0, 0]])
    assert sorted(communicating_classes(two_islands)) == [[0, 1], [2, 3]]
    cycle = np.array([[0, 1.0, 0], [0, 0, 1.0], [1.0, 0, 0]])
    assert communicating_classes(cycle) == [[0, 1, 2]]


def test_a_diagonal_connects_nothing() -> None:
    assert sorted(communicating_classes(np.eye(3))) == [[0], [1], [2]]
