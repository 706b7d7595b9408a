"""Log lines as servers write them, made from nothing but their numbers: the same number is always the same line."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from mead.models.arrays import IntArray

COMPONENTS = ("auth", "cart", "catalog", "checkout", "gateway", "inventory", "mailer", "search", "session", "storage")
LEVELS = ("DEBUG", "INFO", "INFO", "INFO", "INFO", "INFO", "WARN", "ERROR")
MESSAGES = (
    "request {a} from 10.{b}.{c}.{d} took {e} ms",
    "user {a} logged in from 10.{b}.{c}.{d}",
    "cache miss for key item:{a}, loaded in {e} ms",
    "retry {d} of job {a} after {e} ms",
    "connection to 10.{b}.{c}.{d} refused, code {e}",
    "payment {a} accepted, {e} cents",
    "slow query {a}: {e} ms, {c} rows",
    "disk usage {b} % on volume {a}",
    "token {a} expired {e} s ago",
    "handler {a} failed: timeout after {e} ms",
)
MALFORMED = 0.01
"""So many lines are cut off somewhere."""

EPOCH_US = 1_700_000_000_000_000
STEP_US = 3_000
"""The time that a line carries is its own, and goes on with its number."""


def log_lines(numbers: IntArray) -> pa.RecordBatch:
    """One column ``line``.

    >>> log_lines(np.array([7]))["line"][0].as_py()
    '2023-11-14T22:13:20.021000Z INFO [inventory] user 7222 logged in from 10.26.145.235'
    """
    return pa.record_batch({"line": pa.array([_line(number, *bits) for number, *bits in _bits(numbers)])})


def _bits(numbers: IntArray) -> list[tuple[int, ...]]:
    """Every number with six others that look random (Steele, Lea and Flood, SplitMix, OOPSLA 2014, Fig. 17)."""
    state = numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    state ^= state >> np.uint64(31)
    parts = [(state >> np.uint64(10 * n)) & np.uint64(0x3FF) for n in range(6)]
    return list(zip(numbers.tolist(), *(part.tolist() for part in parts), strict=True))


def _line(number: int, a: int, b: int, c: int, d: int, e: int, f: int) -> str:
    stamp = np.datetime64(EPOCH_US + STEP_US * number, "us")
    message = MESSAGES[(a + f) % len(MESSAGES)].format(a=1000 + a * 7 + b, b=b % 100, c=c % 256, d=d % 256, e=e)
    line = f"{stamp}Z {LEVELS[c % len(LEVELS)]} [{COMPONENTS[d % len(COMPONENTS)]}] {message}"
    return line[: 5 + f % 20] if f < 1024 * MALFORMED else line
