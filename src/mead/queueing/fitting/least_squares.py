"""Least squares for residuals that are expensive to compute but cheap to compute many at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from mead.arrays import FloatArray

Residuals: TypeAlias = Callable[[FloatArray], FloatArray]
"""From stacked points (k, p) to stacked residuals (k, r). It may return values that are not finite."""

DIFFERENCE = 1e-4
LONGEST_STEP = 1.5
FIRST_DAMPING, LEAST_DAMPING = 1e-2, 1e-7
TRIES = 8
SMALL_GAIN = 1e-2
"""A step that lowers the sum of squares by less than this part of it is the last."""
SECANT_STEPS = 2
"""Steps on one Jacobian, the later ones on its update, before a new one is computed."""


def levenberg_marquardt(
    residuals: Residuals, start: FloatArray, bounds: tuple[float, float], iterations: int
) -> tuple[FloatArray, FloatArray]:
    """A point near a local minimum of the sum of squares, and its residuals; never worse than ``start``.

    The Jacobian is taken by forward differences, all columns in one call. Between two of them it is kept up to date
    by Broyden's secant rule (1965), which halves the number of calls. A point with a residual that is not finite
    is never accepted.

    >>> point, left = levenberg_marquardt(lambda x: x**2 - 4.0, np.array([1.0, 9.0]), (-14.0, 14.0), 50)
    >>> point.round(4).tolist()
    [2.0, 2.0]
    """
    point, (here, jacobian) = start, _linearised(residuals, start)
    damping, age = FIRST_DAMPING, 0
    for _ in range(iterations):
        if age >= SECANT_STEPS:
            (here, jacobian), age = _linearised(residuals, point), 0
        step = _damped_step(residuals, point, here, jacobian, bounds, damping)
        if step is None and age == 0:
            break
        if step is None:
            age = SECANT_STEPS  # the update has led astray; try once more with a Jacobian of this very point
            continue
        there, residual, damping = step
        gain = 1.0 - float(residual @ residual) / float(here @ here)
        moved = there - point
        jacobian = jacobian + np.outer(residual - here - jacobian @ moved, moved) / (moved @ moved)
        point, here, age = there, residual, age + 1
        damping = max(damping / 5.0, LEAST_DAMPING)
        if gain < SMALL_GAIN:
            break
    return point, here


def _linearised(residuals: Residuals, point: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Residuals and Jacobian at a point, in one call."""
    around = residuals(np.vstack([point, point + DIFFERENCE * np.eye(point.size)]))
    slopes = (around[1:] - around[0]).T / DIFFERENCE
    return around[0], np.nan_to_num(slopes, nan=0.0, posinf=0.0, neginf=0.0)


def _damped_step(
    residuals: Residuals,
    point: FloatArray,
    here: FloatArray,
    jacobian: FloatArray,
    bounds: tuple[float, float],
    damping: float,
) -> tuple[FloatArray, FloatArray, float] | None:
    """The first better point along growing damping: (point, residuals, damping), or None."""
    error, curvature, gradient = float(here @ here), jacobian.T @ jacobian, jacobian.T @ here
    for _ in range(TRIES):
        system = curvature + damping * np.diag(np.diag(curvature) + 1e-3)
        step = np.clip(-np.linalg.solve(system, gradient), -LONGEST_STEP, LONGEST_STEP)
        there = np.clip(point + step, *bounds)
        residual = residuals(there[None])[0]
        if float(residual @ residual) < error and there.tolist() != point.tolist():
            return there, residual, damping
        damping *= 4.0
    return None
