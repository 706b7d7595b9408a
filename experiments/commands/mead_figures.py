"""Commands ``mead-fig3``, ``mead-traces`` and ``mead-kpc``: the figures of the MEAD paper, and its fitter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from experiments.commands.given_traces import files_of, workloads_of
from experiments.commands.options import (
    Duration,
    Folder,
    Only,
    Plots,
    Traces,
    make_folder,
    show,
    show_entries,
)
from mead.cli.inputs import AreIats, ColumnName, Sorted, UnitName
from mead.cli.terminal import AsJson, Seed, progress_bar

if TYPE_CHECKING:
    from experiments.mead_paper.fig3 import Curve


def add_to(app: typer.Typer) -> None:
    """Add the figures of MEAD, under their names."""
    app.command("mead-fig3")(mead_fig3)
    app.command("mead-traces")(mead_traces)
    app.command("mead-kpc")(mead_kpc)


def mead_fig3(
    ctx: typer.Context,
    *,
    trace: Traces = None,
    only: Only = None,
    seed: Seed = 1,
    duration: Duration = 1800.0,
    iat: AreIats = False,
    column: ColumnName = None,
    unit: UnitName = None,
    sort: Sorted = False,
    out: Folder = None,
    plot: Plots = None,
    as_json: AsJson = False,
) -> None:
    """Fig. 3 of the MEAD paper: predicted and measured response time over utilization, smooth and bursty arrivals.

    Poisson arrivals stand in for the paper's smooth trace. A MAP fitted to statistics, as in the paper, and one
    calibrated on response times stand side by side.

    Example: `python -m experiments mead-fig3 --only lm --plot out`
    """
    from time import process_time

    from experiments.mead_paper.fig3 import curve, fig3_tables, plot_fig3, write_fig3
    from experiments.workloads import generated

    files = files_of(ctx, trace, iat=iat, column=column, unit=unit, sort=sort)
    workloads = [generated(duration)[0], *workloads_of(ctx, files, only, duration, None)]
    for folder in (out, plot):
        make_folder(ctx, folder)
    curves: list[Curve] = []
    with progress_bar(len(workloads)) as tell:
        for workload in workloads:
            tell(workload.name, len(curves))
            curves.append(curve(workload, seed=seed, clock=process_time))
    written = write_fig3(out, curves) if out is not None else []
    written += [plot_fig3(plot, curves)] if plot is not None else []
    document = {"experiment": "mead-fig3", "curves": [one.as_json() for one in curves]}
    show(document, fig3_tables(curves), written, as_json=as_json)


def mead_traces(
    ctx: typer.Context,
    *,
    trace: Traces = None,
    only: Only = None,
    seed: Seed = 1,
    duration: Duration = 1800.0,
    iat: AreIats = False,
    column: ColumnName = None,
    unit: UnitName = None,
    sort: Sorted = False,
    plot: Plots = None,
    as_json: AsJson = False,
) -> None:
    """Figs. 2, 6 and 7 of the MEAD paper: arrival rate over time and autocorrelation of the traces.

    For Table III it counts the minutes that are busier than all that a window before them holds.

    Example: `python -m experiments mead-traces --trace bc=bc-paug89.parquet --plot out`
    """
    from experiments.mead_paper.traces import course_of, traces_tables

    files = files_of(ctx, trace, iat=iat, column=column, unit=unit, sort=sort)
    workloads = workloads_of(ctx, files, only, duration, None)
    make_folder(ctx, plot)
    courses = [course_of(workload, seed=seed) for workload in workloads]
    written = []
    if plot is not None:
        from experiments.mead_paper.plots import plot_traces

        written = [plot / "mead-traces.png"]
        plot_traces(courses, written[0])
    document = {"experiment": "mead-traces", "traces": [one.as_json() for one in courses]}
    show(document, traces_tables(courses), written, as_json=as_json)


def mead_kpc(
    ctx: typer.Context,
    *,
    trace: Traces = None,
    only: Only = None,
    size: Annotated[int, typer.Option(min=2000, metavar="N", help="Inter-arrival times of a window.")] = 50_000,
    seed: Seed = 1,
    duration: Duration = 3600.0,
    iat: AreIats = False,
    column: ColumnName = None,
    unit: UnitName = None,
    sort: Sorted = False,
    as_json: AsJson = False,
) -> None:
    """The statistics that KPC, the fitter of the MEAD paper, matches, and the queue that its models predict.

    Windows lie side by side over the whole trace. The published choice of the order and the default fitter stand
    beside it.

    Example: `python -m experiments mead-kpc --trace bc=bc-paug89.parquet --only bc`
    """
    from experiments.mead_paper.kpc import TraceMatches, kpc_tables, starts_of, window_matches

    files = files_of(ctx, trace, iat=iat, column=column, unit=unit, sort=sort)
    works = [(one, one.trace(seed).iats_s) for one in workloads_of(ctx, files, only, duration, None)]
    for workload, iats_s in works:
        if iats_s.size < size:
            ctx.fail(f"{workload.name} has {iats_s.size:,} inter-arrival times; --size asks for {size:,}")
    done, traces = 0, []
    with progress_bar(sum(len(starts_of(iats_s.size, size)) for _, iats_s in works)) as tell:
        for workload, iats_s in works:
            windows = []
            for start in starts_of(iats_s.size, size):
                tell(workload.name, done)
                windows.append(window_matches(iats_s, start, size, seed=seed))
                done += 1
            traces.append(TraceMatches(workload.name, tuple(windows)))
    show_entries("mead-kpc", "traces", traces, kpc_tables(traces), as_json=as_json)
