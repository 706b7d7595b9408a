"""``mead fit``: Markovian arrival processes for the last inter-arrival times of a trace."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer.core import TyperCommand

from mead.cli.inputs import PLOT_ENDINGS, AreIats, ColumnName, Sorted, UnitName, read_trace_or_fail
from mead.cli.terminal import AsJson, Seed, check_writable, print_json
from mead.extras import require


class SeveralWindows(TyperCommand):
    """Lets one ``--window`` take several numbers: ``--window 50000 25000``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Repeat the option before every further number."""
        spelt: list[str] = []
        sizes: int | None = None
        for word in args:
            sizes = 0 if word == "--window" else sizes + 1 if sizes is not None and word.isdecimal() else None
            spelt += ["--window", word] if sizes is not None and sizes > 1 else [word]
        return super().parse_args(ctx, spelt)


def fit(
    ctx: typer.Context,
    trace: Annotated[Path, typer.Argument(metavar="TRACE", help="Arrivals: Parquet, CSV, text or .npy.")],
    *,
    window: Annotated[
        list[int] | None,
        typer.Option(
            min=1, metavar="N ...", help="Fit the last N inter-arrival times, for each N.  [default: 50000 25000]"
        ),
    ] = None,
    best: Annotated[int, typer.Option(min=1, metavar="N", help="Number of models to keep per window.")] = 5,
    fitter: Annotated[
        Literal["calibrated", "kpc"],
        typer.Option(help="Fit by the predicted queue, or by moments and correlation."),
    ] = "calibrated",
    iat: AreIats = False,
    column: ColumnName = None,
    unit: UnitName = None,
    sort: Sorted = False,
    seed: Seed = 0,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw windows and models to this file: .png, .pdf or .svg.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Fit Markovian arrival processes to the last inter-arrival times of a trace.

    Shows each window with its best models, and the response times that both lead to.

    Example: `mead fit arrivals.parquet --window 50000 25000 --plot fit.png`
    """
    from time import perf_counter

    from mead.queueing import DEFAULT_WINDOWS
    from mead.reports.models.fit_report import report_fits

    if plot is not None:
        require("plot", "--plot")
        check_writable(ctx, plot, PLOT_ENDINGS)
    arrivals = read_trace_or_fail(ctx, trace, iat=iat, column=column, unit=unit, sort=sort)
    sizes = window or DEFAULT_WINDOWS
    reports = list(report_fits(arrivals, sizes, fitter=fitter, best=best, seed=seed, clock=perf_counter))
    if plot is not None:
        from mead.reports.models.plots import plot_fits

        try:
            plot_fits(reports, plot, seed=seed)
        except OSError as error:
            ctx.fail(f"{plot}: cannot be written ({error.strerror or error})")
    if as_json:
        print_json({"windows": [report.as_json() for report in reports]})
        return

    from rich.console import Console

    from mead.reports.models.fit_report import fit_tables

    console = Console()
    for part in (part for report in reports for part in fit_tables(report)):
        console.print(part)
        console.print()
    if plot is not None:
        console.print(f"Plot: {plot}", highlight=False, markup=False)
