"""Generate log lines of a web shop from their numbers: the same number gives the same line.

A line is a time stamp, a level, the component that wrote it, and a message::

    2023-11-14T22:13:20.021000Z INFO [session] user 4711 logged in from 10.26.145.235
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from mead.arrays import IntArray

EVENTS = (
    ("INFO", "gateway", "GET /items/{a} from 10.{b}.{c}.{d} answered 200 in {e} ms"),
    ("INFO", "gateway", "POST /cart/{a} from 10.{b}.{c}.{d} answered 201 in {e} ms"),
    ("INFO", "gateway", "GET /search?q=item{b} from 10.{b}.{c}.{d} answered 200 in {e} ms"),
    ("WARN", "gateway", "GET /orders/{a} from 10.{b}.{c}.{d} answered 503 in {e} ms, upstream checkout-{b}"),
    ("WARN", "gateway", "rate limit: client 10.{b}.{c}.{d} sent {e} requests in 10 s"),
    ("INFO", "session", "user {a} logged in from 10.{b}.{c}.{d}"),
    ("INFO", "session", "session {x} of user {a} expired after {e} s"),
    ("WARN", "auth", "failed password for user {a} from 10.{b}.{c}.{d} port {e}, attempt {b}"),
    ("ERROR", "auth", "token {x} rejected: signature does not match, issuer id-{b}"),
    ("DEBUG", "cart", "cache miss for key cart:{a}, loaded in {e} ms"),
    ("INFO", "cart", "user {a} added item {e} ({b} in stock)"),
    ("DEBUG", "catalog", "cache hit for key item:{a}, age {e} s"),
    ("INFO", "catalog", "reloaded {e} items from replica {b} in {c} ms"),
    ("INFO", "checkout", "payment {x} of user {a} accepted, {e} cents"),
    ("WARN", "checkout", "payment {x} of user {a} declined by provider {b}, code {e}"),
    ("ERROR", "checkout", "order {a} failed: timeout after {e} ms waiting for inventory"),
    ("INFO", "inventory", "reserved {b} of item {a} in warehouse {c}"),
    ("WARN", "inventory", "item {a} is out of stock in warehouse {c}, {b} orders wait"),
    ("INFO", "mailer", "message {x} to user {a} delivered in {e} ms"),
    ("WARN", "mailer", "retry {b} of message {x} after {e} s: 451 greylisted"),
    ("INFO", "search", "query {a} matched {e} items in {c} ms"),
    ("WARN", "search", "slow query {a}: {e} ms, {c} shards"),
    ("WARN", "storage", "disk usage {b} % on volume {c}, {e} MB left"),
    ("ERROR", "storage", "connection to 10.{b}.{c}.{d}:5432 refused, {e} statements lost"),
    ("DEBUG", "storage", "checkpoint {a} complete: wrote {e} buffers in {c} ms"),
    ("FATAL", "storage", "could not write to segment {x}: no space left on device"),
)
"""Level, component and message of each event. The first half occurs more often than the second."""

LEVELS = ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL")

MALFORMED_OF_1024 = 10
"""Malformed lines per 1024: cut off, without a level, or a line of a stack trace."""

EPOCH_US = 1_700_000_000_000_000
STEP_US = 3_000
"""Time between the stamps of two lines. Stamps follow the line number, not the clock."""


def log_lines(numbers: IntArray) -> pa.RecordBatch:
    """The lines with these numbers, in a column ``line``.

    >>> log_lines(np.array([7]))["line"][0].as_py()
    '2023-11-14T22:13:20.021000Z DEBUG [cart] cache miss for key cart:7222, loaded in 19 ms'
    """
    stamps = np.datetime_as_string((EPOCH_US + STEP_US * numbers).astype("datetime64[us]")).tolist()
    lines = [_line(stamp, *bits) for stamp, bits in zip(stamps, _bits(numbers), strict=True)]
    return pa.record_batch({"line": pa.array(lines, pa.string())})


def format_line(stamp: str, level: str, component: str, message: str) -> str:
    """Join the parts of a line; ``stamp`` is ISO 8601.

    >>> format_line("2023-11-14T22:13:20.021Z", "WARN", "search", "slow query 7: 950 ms")
    '2023-11-14T22:13:20.021Z WARN [search] slow query 7: 950 ms'
    """
    return f"{stamp} {level} [{component}] {message}"


def _bits(numbers: IntArray) -> list[tuple[int, ...]]:
    """Six pseudo-random numbers for each number (Steele, Lea and Flood, SplitMix, OOPSLA 2014, Fig. 17)."""
    state = numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    state ^= state >> np.uint64(31)
    parts = [(state >> np.uint64(10 * n)) & np.uint64(0x3FF) for n in range(6)]
    return list(zip(*(part.tolist() for part in parts), strict=True))


def _line(stamp: str, a: int, b: int, c: int, d: int, e: int, f: int) -> str:
    half = len(EVENTS) // 2
    level, component, text = EVENTS[a % half if b % 4 else a % len(EVENTS)]
    message = text.format(a=1000 + a * 7 + b, b=b % 100, c=c % 256, d=d % 256, e=e, x=f"{a:03x}{b:03x}{c:03x}{d:03x}")
    whole = format_line(f"{stamp}Z", level, component, message)
    if f >= MALFORMED_OF_1024:
        return whole
    return (whole[: 5 + e % 20], f"{stamp}Z [{component}] {message}", f"    at {component}.Handler.run:{e}")[f % 3]
