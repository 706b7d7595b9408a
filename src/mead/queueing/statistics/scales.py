"""Lags and spans at which a stream is described: round numbers."""

from __future__ import annotations

from math import ceil, floor, log10

LONGEST_LAG = 10_000

SHORTEST_SPAN_IATS = 10
"""In shorter intervals the index of dispersion says nothing that the SCV does not."""

LONGEST_SPAN = 1 / 25
"""The index of dispersion is taken up to this part of the window; beyond it there are too few intervals to count."""


def lags_of(iats: int) -> list[int]:
    """Round lags up to a tenth of so many IATs, at least lag 1 if there is one.

    >>> lags_of(300)
    [1, 2, 5, 10, 20]
    """
    longest = min(max(iats // 10, 1), iats - 1, LONGEST_LAG)
    return [int(lag) for lag in round_numbers(1, longest)]


def spans_of(iats: int, total_s: float) -> list[float]:
    """Round numbers of seconds in which enough tuples arrive, and which go into the total often enough."""
    return round_numbers(SHORTEST_SPAN_IATS * total_s / max(iats, 1), LONGEST_SPAN * total_s)


def round_numbers(low: float, high: float) -> list[float]:
    """1, 2, 5, 10, 20, 50 and so on, as far as they lie between two positive numbers.

    >>> round_numbers(0.04, 1.2)
    [0.05, 0.1, 0.2, 0.5, 1.0]
    """
    if not 0 < low <= high:
        return []
    decades = range(floor(log10(low)), ceil(log10(high)) + 1)
    return [n for decade in decades for n in (float(f"{digit}e{decade}") for digit in (1, 2, 5)) if low <= n <= high]
