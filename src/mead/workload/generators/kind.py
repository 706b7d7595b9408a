"""What all generators have in common: documented options, and one method.

A generator is a frozen dataclass. Its fields are its options, each with a help text, so that a command line or a
page of documentation can be made from the class alone. ``generate`` takes the random numbers and returns a trace.
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
    """The options of a generator do not fit. The message names the option and says what it must be."""


class Generator(Protocol):
    """One kind of arrivals with its options chosen."""

    def generate(self, rng: np.random.Generator) -> Trace:
        """Arrivals; the same ones for the same state of ``rng``."""


def option(help_text: str, *, default: Any = MISSING) -> Any:
    """A dataclass field with a help text; without a default it must be given."""
    return field(default=default, metadata={"help": help_text})


def check_positive(**options: float) -> None:
    """Refuse zero, negative numbers, infinity and NaN."""
    for name, value in options.items():
        if not (isfinite(value) and value > 0):
            raise GeneratorError(f"{name} must be a finite number above 0; got {value:g}")


@dataclass(frozen=True, kw_only=True)
class Endless(ABC):
    """Arrivals that could go on for ever, cut to so many seconds or to so many arrivals."""

    duration_s: float | None = option("length of the trace in seconds; either this or the count", default=None)
    count: int | None = option("number of arrivals; either this or the duration", default=None)

    def __post_init__(self) -> None:
        if (self.duration_s is None) == (self.count is None):
            raise GeneratorError("give either a duration or a count of arrivals, and not both")
        if self.duration_s is not None:
            check_positive(duration_s=self.duration_s)
        if self.count is not None and self.count < 2:
            raise GeneratorError(f"count must be at least 2, the fewest arrivals a trace can have; got {self.count}")

    @abstractmethod
    def segments(self, rng: np.random.Generator) -> Iterator[Segment]:
        """The stream piece by piece, without an end."""

    def generate(self, rng: np.random.Generator) -> Trace:
        """The arrivals of the first seconds, or the first so many arrivals."""
        return trace_of(joined(self.segments(rng), duration_s=self.duration_s, count=self.count))


def trace_of(arrivals: Segment) -> Trace:
    """The trace of a piece of stream. Too few arrivals to be one are the fault of the options."""
    try:
        return Trace.from_timestamps_s(arrivals.times_s)
    except TraceError as error:
        raise GeneratorError(f"{error}; {arrivals.duration_s:g} s are too short at this rate") from error
