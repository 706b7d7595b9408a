from __future__ import annotations

import contextlib
import io
import warnings

import numpy as np
import pytest

from mead.queueing import MAP
from mead.queueing.fitting.kpc.blocks import composed_kpc, largest_decay, regular_products
from mead.queueing.fitting.kpc.correlation import _Objective, fit_correlation
from mead.queueing.fitting.kpc.targets import Targets, measured


def bursty_targets(size: int, seed: int) -> Targets:
    process = composed_kpc(np.array([0.6, 0.8]), np.array([0.6, 0.98]), np.array([1.0, 1.5]))
    iats = process.sample(size, np.random.default_rng(seed))
    return measured(iats / iats.mean())


def objective_of(process: MAP, targets: Targets) -> float:
    """The published objective, from the matrices of a MAP."""
    off = np.abs(process.acf(targets.lags) - targets.rho).sum() / np.linalg.norm(targets.rho)
    return float(off + (process.scv / targets.scv - 1) ** 2)


def test_the_gradient_is_the_slope_of_the_objective() -> None:
    objective = _Objective(bursty_targets(3000, seed=1))
    rng = np.random.default_rng(2)
    point = np.hstack([rng.uniform(-2.5, 1.0, (40, 3)), rng.uniform(-3.0, 5.0, (40, 3))])  # SCVs below and above 1
    which, step = np.arange(40), 1e-6
    gradient = objective(point, which)[1]
    for column in range(6):
        moved = step * np.eye(6)[column]
        slope = (objective(point + moved, which)[0] - objective(point - moved, which)[0]) / (2 * step)
        assert gradient[:, column] == pytest.approx(slope, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("blocks", [1, 2, 3, 4])
def test_the_composed_map_has_the_objective_that_the_search_found(blocks: int) -> None:
    """Nothing is lost between the search and the matrices: all blocks exist, SCVs below 1 included."""
    targets = bursty_targets(4000, seed=3)
    fits = fit_correlation(targets, blocks, 50, np.random.default_rng(0))
    for excess, decay, claimed in zip(fits.excess, fits.decay, fits.objective, strict=True):
        low, high = regular_products(excess, decay)
        whole = composed_kpc(excess, decay, np.where(excess < 0, (low + high) / 2, 1.0))
        assert objective_of(whole, targets) == pytest.approx(claimed, rel=1e-6)


def test_no_block_is_slower_than_its_scv_admits() -> None:
    """Negative correlation beside a positive one pushes the first block to an SCV below 1."""
    rng = np.random.default_rng(8)
    iats = np.abs(1.0 + 0.5 * np.convolve(rng.standard_normal(6001), [1.0, -0.4], mode="valid"))
    targets = measured(iats / iats.mean())
    fits = fit_correlation(targets, 2, 50, np.random.default_rng(0))
    assert fits.excess[0, 0] < 0
    assert np.all(fits.decay <= largest_decay(fits.excess) + 1e-12)
    assert np.all(fits.excess[:, 1:] > 0)


def test_the_optima_are_sorted_and_differ() -> None:
    targets = bursty_targets(20_000, seed=4)
    fits = fit_correlation(targets, 3, 50, np.random.default_rng(0))
    assert np.all(np.diff(fits.objective) >= 0)
    curves = (1 + fits.excess[:, :, None] * fits.decay[:, :, None] ** targets.lags).prod(axis=1)
    for i in range(len(curves)):
        for j in range(i):
            assert not np.allclose(curves[i], curves[j], rtol=1e-3)


def test_an_scv_far_from_the_starts_is_found() -> None:
    rng = np.random.default_rng(9)
    iats = np.where(rng.random(20_000) < 0.995, rng.exponential(0.05, 20_000), rng.exponential(200.0, 20_000))
    targets = measured(iats / iats.mean())
    assert targets.scv > 100
    fits = fit_correlation(targets, 2, 50, np.random.default_rng(0))
    assert 2 * np.prod(1 + fits.excess[0]) - 1 == pytest.approx(targets.scv, rel=0.02)


@pytest.mark.parametrize("blocks", [1, 2, 3])
def test_the_optimum_is_as_good_as_that_of_line_solver(blocks: int) -> None:
    """The same objective, minimised by line-solver's port of the published program and judged on its composed MAP."""
    oracle = pytest.importorskip("line_solver.lib.kpctoolbox.kpcfit")
    targets = bursty_targets(2000, seed=5)
    state = np.random.get_state()  # noqa: NPY002 - the port draws its starts from the global generator
    np.random.seed(1)  # noqa: NPY002
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scvs, decays, _ = oracle.kpcfit_sub_acfit(
            np.array([1.0, 1.0 + targets.scv]), targets.rho, targets.lags, blocks, MaxRunsAC=5
        )
        composed, _, error = oracle.kpcfit_sub_compose(np.ones(blocks), scvs[0], 1.6 * (1 + scvs[0]) ** 2, decays[0])
    np.random.set_state(state)  # noqa: NPY002
    assert error == 0
    theirs = objective_of(MAP(*composed), targets)
    ours = fit_correlation(targets, blocks, 50, np.random.default_rng(0)).objective[0]
    assert ours <= theirs * 1.002
