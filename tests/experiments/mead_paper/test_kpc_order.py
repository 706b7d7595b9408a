from __future__ import annotations

import numpy as np
import pytest
from experiments.mead_paper.kpc_order import choose_order

from mead.arrays import FloatArray


def geometric(terms: int, lags: int) -> FloatArray:
    """A sum of so many geometric terms with well separated decays."""
    k = np.arange(1, lags + 1)
    decays = 1 - np.geomspace(0.5, 0.005, terms) if terms > 1 else np.array([0.98])
    return np.asarray((0.3 / terms * decays[:, None] ** k).sum(axis=0))


@pytest.mark.parametrize(("terms", "blocks"), [(1, 1), (2, 2), (3, 2)])
def test_as_many_blocks_as_the_geometric_terms_need(terms: int, blocks: int) -> None:
    assert choose_order(geometric(terms, 600), max_states=16).blocks == blocks


def test_an_early_decay_does_not_make_the_largest_order_win() -> None:
    """Sixteen unknowns interpolate twenty noisy lags; without a limit to the order that always looks best."""
    rng = np.random.default_rng(4)
    rho = 0.2 * 0.8 ** np.arange(1, 200) * (1 + 0.2 * rng.standard_normal(199))
    rho[20:] = -1e-3 * rng.random(179)
    assert choose_order(rho, max_states=128).blocks <= 2


@pytest.mark.parametrize("rho", [np.zeros(50), np.full(50, -0.1), np.array([0.5, 0.2])])
def test_without_positive_correlation_one_block_remains(rho: FloatArray) -> None:
    assert choose_order(rho, max_states=16).blocks == 1


def test_a_very_long_autocorrelation_is_thinned_out_and_still_understood() -> None:
    k = np.arange(1, 60_001)
    assert choose_order(0.2 * 0.9995**k + 0.1 * 0.5**k, max_states=16).blocks == 2


def test_a_bad_recursion_says_how_much_it_leaves_unexplained() -> None:
    rng = np.random.default_rng(6)
    assert choose_order(rng.uniform(0.05, 0.2, 300), max_states=4).unexplained > 0.05
    assert choose_order(geometric(1, 300), max_states=4).unexplained < 1e-9
