"""Surprises: observations that are far from their prediction.

A prediction is a mean response time in the long run. A few tuples in a second or two say little about it, so an effect
counts only if it was seen for a while.
"""

from __future__ import annotations

FAR = 2.0
"""An effect is a surprise if it is at least this many times the prediction, or at most one over this."""

LEAST_S = 10.0
"""The least time that an effect must be seen to be a surprise."""


def times_predicted(predicted_s: float | None, observed_s: float | None) -> float | None:
    """Observed over predicted mean response time, where there are both.

    >>> times_predicted(0.2, 0.5), times_predicted(None, 0.5)
    (2.5, None)
    """
    if predicted_s is None or observed_s is None or predicted_s <= 0:
        return None
    return observed_s / predicted_s


def surprising(times: float | None, lasted_s: float | None) -> bool:
    """Whether an effect is far from its prediction, in either direction.

    >>> surprising(2.5, 60.0), surprising(0.4, 60.0), surprising(1.9, 60.0), surprising(2.5, 1.0)
    (True, True, False, False)
    """
    if times is None or lasted_s is None or lasted_s < LEAST_S:
        return False
    return not 1 / FAR < times < FAR
