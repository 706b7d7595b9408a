"""Fits and solutions as tables for a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from mead.keys import printable
from mead.reports.models.fit_report import ResponseAt, Statistics, WindowReport
from mead.reports.models.solve import Answer, Figures

NOTHING = "-"


class TimeUnit(NamedTuple):
    """One unit for all times of a table, so that they can be compared at a glance."""

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


def solution_table(answer: Answer, model: str) -> Table:
    """Operators first, then paths: utilization, mean and percentiles of the response time.

    Names are wrapped, since a table reads plain strings as markup and would take ``[red]`` for a colour.
    """
    both = (*answer.operators.items(), *answer.paths.items())
    unit = TimeUnit.of(time_s for _, figures in both for time_s in figures.times_s)
    title = f"Response time in {unit.name} (model {model}, {number(answer.rate_per_s)} tuples/s)"
    table = plain_table(title, "operator", "utilization", "mean", *(f"p{percent:.12g}" for percent in answer.percents))
    for name, figures in answer.operators.items():
        table.add_row(Text(name), *_solution_cells(figures, unit))
    table.add_section()
    for name, figures in answer.paths.items():
        table.add_row(Text(f"path {name}"), *_solution_cells(figures, unit))
    return table


def _solution_cells(figures: Figures, unit: TimeUnit) -> list[Text]:
    if not figures.stable:
        return [Text(cell, style="bold red") for cell in (number(figures.utilization), "overloaded")]
    return [Text(number(figures.utilization)), *(Text(unit.show(time_s)) for time_s in figures.times_s)]


def fit_tables(report: WindowReport) -> Iterator[Table | Text]:
    """The window beside its models, the response times behind both, and the note."""
    span_s = float(report.iats_s.sum())
    iats = "IAT" if report.fit.size == 1 else f"{report.fit.size:,} IATs"
    window = f"The last {iats}, {number(span_s)} s; fitted in {report.seconds:.2f} s"
    yield _statistics_table(window, report)
    if report.responses:
        yield _response_table(report.responses)
    if report.fit.note:
        yield Text(f"Note: {report.fit.note}.", style="yellow")


def _statistics_table(title: str, report: WindowReport) -> Table:
    span_s = max(report.used.idc, default=None)
    idc = "IDC" if span_s is None else f"IDC({span_s:g} s)"
    table = plain_table(title, "", "rate/s", "SCV", "ACF(1)", "ACF(100)", idc, "limit", "states", "score")
    table.add_row("window", *_statistics_cells(report.trace, span_s))
    if report.is_cut:
        table.add_row("used part", *_statistics_cells(report.used, span_s))
    lags, spans_s = list(report.used.acf), list(report.used.idc)
    for model in report.fit.models:
        cells = _statistics_cells(Statistics.of_map(model.map, lags, spans_s), span_s)
        table.add_row(model.family, *cells, str(model.map.states), number(model.score))
    return table


def _statistics_cells(statistics: Statistics, span_s: float | None) -> list[str]:
    correlations = [statistics.acf.get(lag) for lag in (1, 100)]
    dispersion = None if span_s is None else statistics.idc.get(span_s)
    return [
        *(number_or_nothing(value) for value in (statistics.rate_per_s, statistics.scv)),
        *(NOTHING if value is None else f"{value:.3f}" for value in correlations),
        *(number_or_nothing(value) for value in (dispersion, statistics.idc_limit)),
    ]


def number_or_nothing(value: float | None) -> str:
    """What is not known is a dash.

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


def _response_table(responses: Sequence[ResponseAt]) -> Table:
    rows = [(at.utilization, [*at.replayed, *at.fitted, at.mg1.mean_s, at.kingman.mean_s]) for at in responses]
    unit = TimeUnit.of(time_s for _, times_s in rows for time_s in times_s)
    title = f"Response time in {unit.name} behind an Erlang-2 server"
    table = plain_table(title, "utilization", "replayed", "p95", "best model", "p95", "M/G/1", "Kingman")
    for utilization, times_s in rows:
        table.add_row(f"{utilization:g}", *(unit.show(time_s) for time_s in times_s))
    return table


def plain_table(title: str, first: str, *others: str | Text) -> Table:
    """A table with names on the left and numbers on the right of each column."""
    table = Table(
        title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0)
    )
    table.add_column(first, overflow="fold")
    for heading in others:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def plain_text(text: str, style: str = "") -> Text:
    r"""A name or a reason from elsewhere: neither markup nor anything that a terminal would obey. Lines stay lines.

    >>> plain_text("[red]mat\x1b[2Jcher").plain
    '[red]mat?[2Jcher'
    """
    return Text("\n".join(map(printable, text.split("\n"))), style=style)


def yes_or_no(*, met: bool | None) -> Text:
    """Whether a requirement was met; None where nobody knows.

    >>> yes_or_no(met=None).plain
    '?'
    """
    if met is None:
        return Text("?", style="bold yellow")
    return Text("yes", style="green") if met else Text("NO", style="bold red")


def number(value: float) -> str:
    """Three digits, and no exponent where people would write none.

    >>> [number(value) for value in (0.0, 0.04567, 2.0, 635.4, 12_345.6)]
    ['0', '0.0457', '2.00', '635', '12,300']
    """
    if value == 0:
        return "0"
    rounded = float(f"{value:.3g}")
    return f"{rounded:,.0f}" if 1000 <= abs(rounded) < 1e7 else f"{rounded:#.3g}".removesuffix(".")
