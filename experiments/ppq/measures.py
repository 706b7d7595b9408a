"""Measures of the Elastic-PPQ paper, computed from an outcome in virtual time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, is_dataclass
from math import isfinite
from typing import Any, TypeVar

import numpy as np

from mead.arrays import FloatArray
from mead.preference.simulator.system import Interval, Outcome

T = TypeVar("T")

WARM_UP_INTERVALS = 8
"""The authors' logs were read from here on: both stages start with one worker."""


def during_stream(outcome: Outcome, skip: int = 0) -> list[Interval]:
    """The control intervals in which tuples arrived, without the first ones."""
    inside = [interval for interval in outcome.intervals if interval.end_s <= outcome.stream_s]
    return inside[skip:] or inside


def mean(items: Sequence[T], of: Callable[[T], float]) -> float:
    """The mean over intervals or runs; those without a value do not count."""
    values = np.array([of(item) for item in items])
    known = values[np.isfinite(values)]
    return float(known.mean()) if known.size else float("nan")


def median(items: Sequence[T], of: Callable[[T], float]) -> float:
    """The median over intervals or runs, all of which must have a value."""
    return float(np.median([of(item) for item in items]))


def per_second(times_s: FloatArray, until_s: float) -> FloatArray:
    """Counts in each whole second."""
    return np.asarray(np.histogram(times_s, np.arange(0.0, np.floor(until_s) + 1))[0], dtype=np.float64)


def variation(times_s: FloatArray, until_s: float, without: int = 0) -> float:
    """The paper's CV: sample standard deviation over mean of the windows completed per second.

    Optionally ``without`` some of the busiest seconds.
    """
    counts = np.sort(per_second(times_s, until_s))
    counts = counts[: counts.size - without]
    return float(counts.std(ddof=1) / counts.mean())


def windows_per_s(outcome: Outcome) -> float:
    """Windows completed per second, over the whole run."""
    return outcome.windows_s.size / outcome.run_s


def plain(value: Any) -> Any:
    """A value for strict JSON: dataclasses as objects, what is not a number as null.

    >>> plain({"a": float("nan"), "b": (1, 2.5)})
    {'a': None, 'b': [1, 2.5]}
    """
    if is_dataclass(value) and not isinstance(value, type):
        return plain(asdict(value))
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) and not isfinite(value):
        return None
    return value
