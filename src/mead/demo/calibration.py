"""Measure the CPU time of the matcher on this machine, to choose a number of patterns for a given demand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import process_time

import numpy as np
import pyarrow as pa

from mead.demo.log_lines import log_lines
from mead.demo.matcher import make_matcher
from mead.demo.parser import parse
from mead.demo.patterns import SHIPPED, read_patterns

MESSAGES = 200
REPEATS = 5


@dataclass(frozen=True)
class Calibration:
    """CPU time of the matcher per tuple, measured with all patterns of a file."""

    demand_s: float
    patterns: int

    def tried(self, demand_s: float) -> int:
        """Number of patterns per message that takes this much CPU time.

        >>> Calibration(demand_s=0.001, patterns=300).tried(0.0015)
        450
        """
        return max(1, round(self.patterns * demand_s / self.demand_s))


def calibrate(patterns: Path = SHIPPED, cpu_s: Callable[[], float] = process_time) -> Calibration:
    """Match generated messages several times and take the median, because other processes may use the CPU."""
    numbers = np.arange(MESSAGES)
    stamped = {"id": pa.array(numbers), "arrival_us": pa.array(numbers)}
    messages = parse(pa.record_batch({**stamped, "line": log_lines(numbers)["line"]}))
    match = make_matcher(patterns)
    match(messages)  # warm up
    taken_s = []
    for _ in range(REPEATS):
        before = cpu_s()
        match(messages)
        taken_s.append(cpu_s() - before)
    return Calibration(float(np.median(taken_s)) / messages.num_rows, len(read_patterns(patterns)))
