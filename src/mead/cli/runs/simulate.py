"""``mead simulate``: a pipeline under a policy, in virtual time."""

from __future__ import annotations

from typing import Annotated

import typer

from mead.cli.inputs import (
    PLOT_ENDINGS,
    AreIats,
    ColumnName,
    PipelinePath,
    PlotPath,
    PolicyName,
    PolicyOption,
    Sorted,
    TracePath,
    UnitName,
    policy_or_fail,
    read_pipeline_or_fail,
    read_trace_or_fail,
)
from mead.cli.runs.history import HistoryPath, now, recorded
from mead.cli.terminal import AsJson, Seed, check_writable, print_json, progress_bar
from mead.extras import require


def simulate(
    ctx: typer.Context,
    pipeline: PipelinePath,
    *,
    trace: TracePath,
    policy: PolicyName = None,
    option: PolicyOption = None,
    duration: Annotated[float | None, typer.Option(metavar="SECONDS", help="Only the first part of the trace.")] = None,
    iat: AreIats = False,
    column: ColumnName = None,
    unit: UnitName = None,
    sort: Sorted = False,
    seed: Seed = 0,
    plot: PlotPath = None,
    history: HistoryPath = None,
    as_json: AsJson = False,
) -> None:
    """Run a pipeline under a policy in virtual time: half an hour takes seconds.

    Shows what the response times were, whether the requirements were met, and what it cost.

    Example: `mead simulate examples/log-analysis.yaml --trace arrivals.parquet --policy map --option best=3`
    """
    from mead.policies import make_policy
    from mead.reports.runs.simulated_report import RunReport
    from mead.simulator import Conditions
    from mead.simulator.run import run
    from mead.workload import TraceError

    if plot is not None:
        require("plot", "--plot")
        check_writable(ctx, plot, PLOT_ENDINGS)
    file = read_pipeline_or_fail(ctx, pipeline)
    options = policy_or_fail(ctx, file, pipeline.parent, policy, option or ())
    arrivals = read_trace_or_fail(ctx, trace, iat=iat, column=column, unit=unit, sort=sort)
    if duration is not None:
        try:
            arrivals = arrivals.between(0.0, duration)
        except TraceError as error:
            ctx.fail(f"{trace}: {error}")
    workload, decides = f"{trace.name}, seed {seed}", make_policy(options)
    with (
        progress_bar(arrivals.duration_s) as bar,
        recorded(
            ctx,
            history,
            file.pipeline,
            options.model_dump(),
            workload,
            lambda this: bar("Simulating", this.time_s),
            started=now(),
            interval_s=decides.interval_s,
        ) as follow,
    ):
        result = run(
            file.pipeline,
            arrivals,
            decides,
            seed=seed,
            conditions=Conditions.of(file, options),
            processors=file.keys.processors,
            kept_iats=options.kept_iats,
            recorded_every=options.recorded_every,
            progress=follow,
        )
        report = RunReport.of(result, seed)
        follow.conclude(report.figures)
    if plot is not None:
        from mead.reports.runs.run_plot import plot_run

        try:
            plot_run(result, plot)
        except OSError as error:
            ctx.fail(f"{plot}: cannot be written ({error.strerror or error})")
    if as_json:
        print_json(report.as_json())
        return

    from rich.console import Console

    from mead.reports.runs.simulated_report import run_tables

    console = Console()
    for part in run_tables(report):
        console.print(part)
        console.print()
    if plot is not None:
        console.print(f"Plot: {plot}", highlight=False, markup=False)
