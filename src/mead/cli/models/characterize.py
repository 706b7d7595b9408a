"""``mead characterize``: characteristics of a trace of any size, computed on Spark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypedDict

import typer

from mead.cli.inputs import (
    PLOT_ENDINGS,
    AreIats,
    ColumnName,
    PlotPath,
    Sorted,
    UnitName,
    UnitOption,
    check_java,
)
from mead.cli.terminal import AsJson, check_writable, print_json, print_parts, progress_bar
from mead.extras import require

if TYPE_CHECKING:
    from mead.queueing import Characteristics


def characterize(
    ctx: typer.Context,
    trace: Annotated[
        Path, typer.Argument(metavar="TRACE", help="Arrivals: Parquet (also a folder), CSV, text or .npy.")
    ],
    *,
    iat: AreIats = False,
    column: ColumnName = None,
    unit: UnitName = None,
    sort: Sorted = False,
    master: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Spark master.  [default: all cores of this machine]", show_default=False),
    ] = None,
    scratch: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Folder for temporary files of `--sort`.", show_default=False),
    ] = None,
    plot: PlotPath = None,
    as_json: AsJson = False,
) -> None:
    """Characterize a trace of any size, on Spark: rate, variability, correlation, dispersion, long memory.

    It needs the same memory for a trace of any size.

    Example: `mead characterize arrivals.parquet --plot arrivals.png`
    """
    if plot is not None:
        require("plot", "--plot")
        check_writable(ctx, plot, PLOT_ENDINGS)
    if scratch is not None and not scratch.is_dir():
        ctx.fail(f"{scratch}: there is no such folder; create it first")
    check_java(ctx)
    options: ReadOptions = {"iat": iat, "column": column, "unit": unit}
    found = _characteristics(ctx, trace, options, sort=sort, master=master, scratch=scratch)
    if plot is not None:
        from mead.reports.models.plots import plot_characteristics

        try:
            plot_characteristics(found, plot)
        except OSError as error:
            ctx.fail(f"{plot}: cannot be written ({error.strerror or error})")

    from mead.reports.models.characterize_report import CharacterizeReport

    report = CharacterizeReport(found)
    if as_json:
        print_json(report.as_json())
        return
    print_parts(report.tables())
    if plot is not None:
        typer.echo(f"Plot: {plot}")


class ReadOptions(TypedDict):
    """Options for reading the file."""

    iat: bool
    column: str | None
    unit: UnitOption


def _characteristics(
    ctx: typer.Context, trace: Path, options: ReadOptions, *, sort: bool, master: str | None, scratch: Path | None
) -> Characteristics:
    """Compute the characteristics on Spark, or end the command with the reason."""
    from pyspark.sql import SparkSession

    from mead.spark.runtime.quiet_start import SparkStartError, start_quietly
    from mead.spark.runtime.spark_session import start_session
    from mead.spark.trace_statistics import characterize as by_spark
    from mead.workload import TraceError, split_trace

    try:
        split_trace(trace, **options)  # find simple errors before Spark starts
        ours = SparkSession.getActiveSession() is None
        with start_quietly():
            spark = start_session("mead characterize", master=master)
        try:
            with progress_bar(total=1.0) as progress:
                return by_spark(spark, trace, **options, sort=sort, scratch=scratch, progress=progress)
        finally:
            if ours:
                spark.stop()
    except TraceError as error:
        ctx.fail(str(error))
    except SparkStartError as error:
        ctx.fail(f"Spark did not start: {error}; see `mead doctor`")
