"""The interface of generators, and checks of their options.

A generator is a frozen dataclass whose fields are its options, each with a help text; the command line is made from
them. ``generate`` takes a random number generator and returns a trace.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import MISSING, dataclass, field
from math import isfinite
from typing import Any, Protocol

import numpy as np

from mead.workload.generators.segments import Segment, joined
from mead.workload.trace import Trace, TraceError


class GeneratorError(ValueError):
    """Invalid options of a generator. The message names the option and says what it must be."""


class Generator(Protocol):
    """A kind of arrivals with its options."""

    def generate(self, rng: np.random.Generator) -> Trace:
        """Generate arrivals; the same ones for the same state of ``rng``."""


LARGEST = 1e12
"""Times (s) and rates (1/s) lie between this and its inverse; other values come from a mistaken unit."""

MOST_ARRIVALS = 1e9
"""Maximum arrivals of a trace. Generating one takes about 50 bytes of memory per arrival."""


def option(help_text: str, *, default: Any = MISSING) -> Any:
    """Return a dataclass field with a help text. It is required unless it has a default."""
    return field(default=default, metadata={"help": help_text})


def check_positive(**options: float) -> None:
    """Refuse numbers that are not positive and finite, and values of a mistaken unit."""
    for name, value in options.items():
        if not (isfinite(value) and value > 0):
            raise GeneratorError(f"{name} must be a finite number above 0; got {value:g}")
        if not 1 / LARGEST <= value <= LARGEST:
            raise GeneratorError(
                f"{name} must lie between {1 / LARGEST:g} and {LARGEST:g}, check the unit; got {value:g}"
            )


def check_expected(arrivals: float, advice: str) -> None:
    """Refuse more arrivals than fit into memory."""
    if not arrivals <= MOST_ARRIVALS:
        raise GeneratorError(
            f"these would be {arrivals:,.4g} arrivals, and a trace can have {MOST_ARRIVALS:,.4g}; {advice}"
        )


@dataclass(frozen=True, kw_only=True)
class Endless(ABC):
    """Base of unlimited streams, cut to a duration or to a number of arrivals."""

    duration_s: float | None = option("length of the trace in seconds; either this or the count", default=None)
    count: int | None = option("number of arrivals; either this or the duration", default=None)

    def __post_init__(self) -> None:
        if (self.duration_s is None) == (self.count is None):
            raise GeneratorError("give either a duration or a count of arrivals, and not both")
        if self.duration_s is not None:
            check_positive(duration_s=self.duration_s)
        if self.count is not None and self.count < 2:
            raise GeneratorError(f"count must be at least 2, the fewest arrivals a trace can have; got {self.count}")

    @property
    @abstractmethod
    def mean_rate_per_s(self) -> float:
        """Expected arrivals per second."""

    @abstractmethod
    def segments(self, rng: np.random.Generator) -> Iterator[Segment]:
        """Yield the stream in segments, without an end."""

    def generate(self, rng: np.random.Generator) -> Trace:
        """Generate ``duration_s`` seconds, or ``count`` arrivals."""
        expected = self.duration_s * self.mean_rate_per_s if self.duration_s is not None else self.count or 0
        check_expected(expected, "ask for a shorter duration or a smaller count")
        return trace_of(joined(self.segments(rng), duration_s=self.duration_s, count=self.count))


def trace_of(arrivals: Segment) -> Trace:
    """Make a trace of a segment. Raises GeneratorError if the options gave no valid trace."""
    try:
        trace = Trace.from_timestamps_s(arrivals.times_s)
    except TraceError as error:
        few = arrivals.times_s.size < 2
        advice = f"{arrivals.duration_s:g} s are too short at this rate" if few else "the rate is too low"
        raise GeneratorError(f"{error}; {advice}") from error
    if trace.timestamps_us[0] == trace.timestamps_us[-1]:
        raise GeneratorError(f"all {len(trace)} arrivals fall into the same microsecond; the rate is too high")
    return trace
