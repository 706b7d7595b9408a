"""Building blocks of tables for a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from mead.keys import printable

NOTHING = "-"

OBSERVED_ONLY = "observed only"
"""Stands for the reason of a round without a decision: in mode observe, none is made."""


class TimeUnit(NamedTuple):
    """One unit for all times of a table."""

    name: str
    seconds: float

    @classmethod
    def of(cls, times_s: Iterable[float]) -> TimeUnit:
        """The largest unit in which the shortest of these times is not far below 1.

        >>> TimeUnit.of([0.0004, 2.5]).name, TimeUnit.of([3.0, 4.0]).name
        ('ms', 's')
        """
        shortest_s = min(times_s, default=1.0)
        return next((unit for unit in UNITS if shortest_s >= 0.1 * unit.seconds), UNITS[-1])

    def show(self, time_s: float) -> str:
        """A time in this unit."""
        return number(time_s / self.seconds)


UNITS = (TimeUnit("s", 1.0), TimeUnit("ms", 1e-3), TimeUnit("us", 1e-6))


def number_or_nothing(value: float | None) -> str:
    """A number; a dash if it is not known.

    >>> number_or_nothing(2.5), number_or_nothing(None)
    ('2.50', '-')
    """
    return NOTHING if value is None else number(value)


def percent_or_nothing(value: float | None) -> str:
    """A fraction as a percentage; a dash if it is not known.

    >>> percent_or_nothing(0.125), percent_or_nothing(None)
    ('12.5%', '-')
    """
    return NOTHING if value is None else f"{value:.1%}"


def plain_table(title: str, first: str, *others: str | Text) -> Table:
    """A table with names in the first column and right-aligned numbers in the others.

    Where the terminal is too narrow, headings and cells continue on a second line; none is left out.
    """
    table = Table(
        title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0)
    )
    table.add_column(first, overflow="fold")
    for heading in others:
        table.add_column(heading, justify="right", overflow="fold")
    return table


def plain_text(text: str, style: str = "") -> Text:
    r"""Text from outside, without markup and control characters. Line breaks stay.

    >>> plain_text("[red]mat\x1b[2Jcher").plain
    '[red]mat?[2Jcher'
    """
    return Text("\n".join(map(printable, text.split("\n"))), style=style)


def yes_or_no(*, met: bool | None) -> Text:
    """Whether a requirement is met; None if not known.

    >>> yes_or_no(met=None).plain
    '?'
    """
    if met is None:
        return Text("?", style="bold yellow")
    return Text("yes", style="green") if met else Text("NO", style="bold red")


def number(value: float) -> str:
    """A number with three digits, without an exponent for usual sizes.

    >>> [number(value) for value in (0.0, 0.04567, 2.0, 635.4, 12_345.6)]
    ['0', '0.0457', '2.00', '635', '12,300']
    """
    if value == 0:
        return "0"
    rounded = float(f"{value:.3g}")
    return f"{rounded:,.0f}" if 1000 <= abs(rounded) < 1e7 else f"{rounded:#.3g}".removesuffix(".")
