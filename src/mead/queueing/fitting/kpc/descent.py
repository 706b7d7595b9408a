"""Minimization from many starting points at once.

Damped Gauss-Newton steps work on stacks of small problems.

Every start has its own damping and stops on its own, but all that still run share one call of the objective and one
of the linear solver, so a multi-start of fifty costs little more than a single one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from mead.arrays import FloatArray, IntArray

Objective: TypeAlias = Callable[[FloatArray, IntArray], tuple[FloatArray, FloatArray, FloatArray]]
"""From points (k, p) and the numbers of their starts (k) to values (k), gradients (k, p) and curvatures (k, p, p)."""

LONGEST_STEP = 1.5
FIRST_DAMPING, LEAST_DAMPING, MOST_DAMPING = 1e-2, 1e-8, 1e7
CALM_STEPS = 3
"""A start stops after this many steps that gained less than the tolerance."""


def descend(
    objective: Objective,
    start: FloatArray,
    bounds: tuple[FloatArray, FloatArray],
    *,
    iterations: int = 200,
    tolerance: float = 1e-4,
) -> FloatArray:
    """Descend from each row of ``start`` (k, p) to a nearby local minimum.

    The results lie within the bounds and are never worse than ``start``.

    The damping follows Levenberg and Marquardt. A step is taken only if it lowers the value, so an objective that is
    not a number somewhere is no danger.

    >>> def bowl(x, which):
    ...     return ((x - 3) ** 2).sum(axis=1), 2 * (x - 3), np.tile(2 * np.eye(2), (len(x), 1, 1))
    >>> box = np.zeros((2, 2)), np.array([[9.0, 9.0], [9.0, 1.0]])
    >>> descend(bowl, np.array([[0.0, 8.0], [5.0, 0.5]]), box, tolerance=1e-9).round(4).tolist()
    [[3.0, 3.0], [3.0, 1.0]]
    """
    low, high = bounds
    point = np.clip(start, low, high)
    count, size = point.shape
    diagonal = np.arange(size)
    running = np.arange(count)
    value, gradient, curvature = objective(point, running)
    damping = np.full(count, FIRST_DAMPING)
    calm = np.zeros(count, dtype=np.int64)
    for _ in range(iterations):
        if not running.size:
            break
        here, slope = point[running], gradient[running]
        # A coordinate that leans against its bound takes no part in the step.
        held = ((here <= low[running]) & (slope > 0)) | ((here >= high[running]) & (slope < 0))
        system = np.where(held[:, :, None] | held[:, None, :], 0.0, curvature[running])
        steepness = curvature[running][:, diagonal, diagonal]
        floor = 1e-3 * steepness.max(axis=1, keepdims=True) + 1e-12
        system[:, diagonal, diagonal] += damping[running, None] * (steepness + floor) + held
        step = np.linalg.solve(system, np.where(held, 0.0, -slope)[:, :, None])[:, :, 0]
        there = np.clip(here + np.clip(step, -LONGEST_STEP, LONGEST_STEP), low[running], high[running])
        new_value, new_gradient, new_curvature = objective(there, running)
        better = new_value < value[running]
        gain = np.where(better, value[running] - new_value, 0.0)
        small = better & (gain <= tolerance * np.abs(value[running]))
        calm[running] = np.where(small, calm[running] + 1, np.where(better, 0, calm[running]))
        taken = running[better]
        point[taken], value[taken] = there[better], new_value[better]
        gradient[taken], curvature[taken] = new_gradient[better], new_curvature[better]
        damping[running] = np.where(better, np.maximum(damping[running] / 5.0, LEAST_DAMPING), damping[running] * 4.0)
        running = running[(calm[running] < CALM_STEPS) & (damping[running] < MOST_DAMPING)]
    return point
