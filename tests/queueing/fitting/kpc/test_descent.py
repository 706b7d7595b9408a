from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mead.arrays import FloatArray, IntArray
from mead.queueing.fitting.kpc.descent import descend


def rosenbrock(x: FloatArray, which: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Rosenbrock's valley as a least-squares problem, with its minimum 0 at ``(a, a^2)``; a is 1, 2, 3, ..."""
    a = 1.0 + which
    residual = np.stack([a - x[:, 0], 10 * (x[:, 1] - x[:, 0] ** 2)], axis=1)
    jacobian = np.zeros((x.shape[0], 2, 2))
    jacobian[:, 0, 0], jacobian[:, 1, 0], jacobian[:, 1, 1] = -1.0, -20 * x[:, 0], 10.0
    gradient = 2 * (jacobian.transpose(0, 2, 1) @ residual[:, :, None])[:, :, 0]
    return (residual**2).sum(axis=1), gradient, 2 * jacobian.transpose(0, 2, 1) @ jacobian


@given(start=st.lists(st.tuples(st.floats(-4, 4), st.floats(-4, 4)), min_size=1, max_size=5))
def test_every_start_finds_the_minimum_of_its_own_problem(start: list[tuple[float, float]]) -> None:
    points = np.array(start)
    wide = np.full(points.shape, -30.0), np.full(points.shape, 30.0)
    found = descend(rosenbrock, points, wide, iterations=500, tolerance=1e-12)
    a = 1.0 + np.arange(points.shape[0])
    assert np.allclose(found, np.stack([a, a**2], axis=1), atol=1e-3)


def test_bounds_hold_and_the_other_coordinates_still_move() -> None:
    bounds = np.array([[-5.0, -5.0]]), np.array([[0.5, 5.0]])
    found = descend(rosenbrock, np.array([[-3.0, 4.0]]), bounds, iterations=500, tolerance=1e-12)
    assert np.allclose(found, [[0.5, 0.25]], atol=1e-4)


def test_a_point_where_the_objective_is_no_number_is_never_taken() -> None:
    def cliff(x: FloatArray, which: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:  # noqa: ARG001
        value = np.where(x[:, 0] > 2, np.nan, (x[:, 0] - 3) ** 2)
        return value, 2 * (x - 3), np.full((x.shape[0], 1, 1), 2.0)

    found = descend(cliff, np.array([[0.0]]), (np.array([[-9.0]]), np.array([[9.0]])))
    assert 1.0 < found[0, 0] <= 2.0


def test_no_start_ends_higher_than_it_began() -> None:
    rng = np.random.default_rng(1)
    start = rng.uniform(-4, 4, (30, 2))
    bounds = np.full(start.shape, -5.0), np.full(start.shape, 5.0)
    which = np.arange(30)
    found = descend(rosenbrock, start, bounds, iterations=3)
    assert np.all(rosenbrock(found, which)[0] <= rosenbrock(start, which)[0])
