from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import least_squares

from mead.arrays import FloatArray
from mead.queueing.fitting.least_squares import levenberg_marquardt

BOUNDS = (-14.0, 9.0)


def rosenbrock(points: FloatArray) -> FloatArray:
    return np.stack([10 * (points[:, 1] - points[:, 0] ** 2), 1 - points[:, 0]], axis=1)


def test_it_ends_where_scipy_ends() -> None:
    t = np.linspace(0, 4, 40)
    measured = 2.5 * np.exp(-1.3 * t) + 0.01 * np.sin(37 * t)

    def residuals(points: FloatArray) -> FloatArray:
        return np.asarray(points[:, :1] * np.exp(-points[:, 1:] * t) - measured)

    point, left = levenberg_marquardt(residuals, np.array([1.0, 0.3]), BOUNDS, 100)

    def one(x: FloatArray) -> FloatArray:
        return np.asarray(residuals(x[None])[0])

    reference = least_squares(one, [1.0, 0.3])
    np.testing.assert_allclose(point, reference.x, rtol=1e-3)
    assert left @ left == pytest.approx(2 * reference.cost, rel=1e-3)


def test_a_curved_valley_is_followed_to_its_end() -> None:
    point, _ = levenberg_marquardt(rosenbrock, np.array([-1.2, 1.0]), BOUNDS, 200)
    np.testing.assert_allclose(point, [1.0, 1.0], atol=1e-3)


def test_points_where_the_residuals_are_not_finite_are_never_accepted() -> None:
    def residuals(points: FloatArray) -> FloatArray:
        with np.errstate(invalid="ignore"):
            return np.asarray(np.log(points) - np.log(0.5))

    point, left = levenberg_marquardt(residuals, np.array([8.0]), BOUNDS, 100)
    assert np.isfinite(left).all()
    assert point[0] == pytest.approx(0.5, rel=1e-2)


def test_a_start_that_is_not_finite_is_returned_as_it_is() -> None:
    point, left = levenberg_marquardt(lambda points: points * np.nan, np.array([1.0]), BOUNDS, 10)
    assert point.tolist() == [1.0]
    assert np.isnan(left).all()


def test_the_result_stays_within_the_bounds() -> None:
    point, _ = levenberg_marquardt(lambda points: points - 100.0, np.array([0.0]), BOUNDS, 100)
    assert point.tolist() == [BOUNDS[1]]
