from __future__ import annotations

import numpy as np
import pytest

from mead.arrays import FloatArray
from mead.queueing import MAP
from mead.queueing.fitting.kpc.blocks import composed_kpc, regular_products
from mead.queueing.fitting.kpc.correlation import CorrelationFits
from mead.queueing.fitting.kpc.targets import Targets, measured
from mead.queueing.fitting.kpc.third_order import INSIDE_WEIGHT, _Objective, fit_third_order


def joint_moments(process: MAP, targets: Targets) -> FloatArray:
    """``E[X_0 X_i X_{i+j}]`` from the matrices."""
    visits, chain = np.linalg.inv(-process.D0), process.embedded_chain
    power = np.linalg.matrix_power
    start, ones = process.arrival_stationary, np.ones(process.states)
    return np.array(
        [
            start @ visits @ power(chain, int(i)) @ visits @ power(chain, int(j)) @ visits @ ones
            for i, j in targets.joint_lags
        ]
    )


def targets_of(process: MAP, size: int, seed: int) -> Targets:
    iats = process.sample(size, np.random.default_rng(seed))
    return measured(iats / iats.mean())


KNOWN = np.array([0.6, 0.8]), np.array([0.6, 0.98]), np.array([1.2, 0.8])


@pytest.mark.parametrize("first", [0.7, -0.1])
def test_the_score_is_that_of_the_composed_map(first: float) -> None:
    """Joint moments in closed form, against those of the matrices, also where the first block's D0 is not diagonal."""
    targets = targets_of(composed_kpc(*KNOWN), 5000, seed=1)
    excess, decay = np.array([[first, 0.9, 0.4]]), np.array([[0.1, 0.98, 0.5]])
    fit = fit_third_order(targets, CorrelationFits(excess, decay, np.zeros(1)), 5, np.random.default_rng(0))
    whole = composed_kpc(excess[0], decay[0], fit.phase_product[0])
    off = np.linalg.norm(joint_moments(whole, targets) - targets.joint) / np.linalg.norm(targets.joint)
    ratio = np.log(whole.moment(3) / 6 / targets.third)
    assert abs(ratio) < np.log(2)
    assert fit.score[0] == pytest.approx(np.hypot(off, INSIDE_WEIGHT * ratio), rel=1e-9)


def test_the_gradient_is_the_slope_of_the_objective() -> None:
    targets = targets_of(composed_kpc(*KNOWN), 5000, seed=2)
    rng = np.random.default_rng(3)
    excess, decay = rng.uniform(0.1, 2.0, (20, 3)), rng.uniform(0.1, 0.99, (20, 3))
    objective, point, which, step = _Objective(targets, excess, decay), rng.uniform(-2, 3, (20, 3)), np.arange(20), 1e-6
    gradient = objective(point, which)[1]
    for column in range(3):
        moved = step * np.eye(3)[column]
        slope = (objective(point + moved, which)[0] - objective(point - moved, which)[0]) / (2 * step)
        assert gradient[:, column] == pytest.approx(slope, rel=1e-4, abs=1e-6)


def test_the_third_order_of_known_blocks_is_found_again() -> None:
    excess, decay, _ = KNOWN
    known = composed_kpc(*KNOWN)
    targets = targets_of(known, 400_000, seed=4)
    fit = fit_third_order(
        targets, CorrelationFits(excess[None], decay[None], np.zeros(1)), 30, np.random.default_rng(0)
    )
    found = composed_kpc(excess, decay, fit.phase_product[0])
    assert fit.score[0] < 0.02
    assert joint_moments(found, targets) == pytest.approx(joint_moments(known, targets), rel=0.1)
    assert found.moment(3) == pytest.approx(known.moment(3), rel=0.2)


def test_a_slow_block_cannot_send_faster_than_any_stretch_of_the_window() -> None:
    """As published a phase may send at an infinite rate for thousands of arrivals."""
    targets = targets_of(composed_kpc(*KNOWN), 20_000, seed=5)
    excess, decay = np.array([[0.02, 0.8]]), np.array([[0.999, 0.98]])
    fit = fit_third_order(targets, CorrelationFits(excess, decay, np.zeros(1)), 30, np.random.default_rng(0))
    slow_block = composed_kpc(excess[0, :1], decay[0, :1], fit.phase_product[0, :1])
    fastest, slowest = targets.phases_seen(decay[0, :1])
    means = -1 / np.diag(slow_block.D0)
    assert means.min() >= fastest[0] * (1 - 1e-9)
    assert means.max() <= slowest[0] * (1 + 1e-9)
    assert fastest[0] > 0.3


def test_a_regular_first_block_stays_within_its_limits() -> None:
    targets = targets_of(composed_kpc(*KNOWN), 5000, seed=6)
    excess, decay = np.array([[-0.2, 1.5]]), np.array([[0.01, 0.95]])
    fit = fit_third_order(targets, CorrelationFits(excess, decay, np.zeros(1)), 30, np.random.default_rng(0))
    low, high = regular_products(excess[0, :1], decay[0, :1])
    assert low[0] * (1 - 1e-12) <= fit.phase_product[0, 0] <= high[0] * (1 + 1e-12)
    composed_kpc(excess[0], decay[0], fit.phase_product[0])
