"""``mead simulate``: a pipeline under a policy, in virtual time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

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
    Trust,
    UnitName,
    policy_or_fail,
    read_pipeline_or_fail,
    read_trace_or_fail,
)
from mead.cli.runs.history import HistoryPath
from mead.cli.terminal import AsJson, Seed, check_writable, print_json, print_parts, progress_bar
from mead.extras import require

if TYPE_CHECKING:
    from mead.values import Round


def simulate(
    ctx: typer.Context,
    pipeline: PipelinePath,
    *,
    trace: TracePath,
    policy: PolicyName = None,
    option: PolicyOption = None,
    duration: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Simulate only this much of the trace.")
    ] = None,
    iat: AreIats = False,
    column: ColumnName = None,
    unit: UnitName = None,
    sort: Sorted = False,
    seed: Seed = 0,
    plot: PlotPath = None,
    history: HistoryPath = None,
    trust: Trust = False,
    as_json: AsJson = False,
) -> None:
    """Run a pipeline under a policy in virtual time: half an hour takes seconds.

    Prints response times, requirements met or broken, cores used, and decisions.

    Example: `mead simulate examples/log-analysis.yaml --trace arrivals.parquet --policy map --option best=3`
    """
    from mead.api import simulate as simulate_pipeline
    from mead.history import HistoryError
    from mead.session import Observer
    from mead.workload import TraceError

    if plot is not None:
        require("plot", "--plot")
        check_writable(ctx, plot, PLOT_ENDINGS)
    file = read_pipeline_or_fail(ctx, pipeline)
    options = policy_or_fail(ctx, pipeline, file, policy, option or (), named=policy is not None, trust=trust)
    arrivals = read_trace_or_fail(ctx, trace, iat=iat, column=column, unit=unit, sort=sort)
    with progress_bar(min(duration or arrivals.duration_s, arrivals.duration_s)) as bar:

        class Progress(Observer):
            def round(self, this: Round) -> None:
                bar("Simulating", this.time_s)

        try:
            report = simulate_pipeline(
                file,
                arrivals,
                policy=options,
                seed=seed,
                duration_s=duration,
                history=history,
                workload=f"{trace.name}, seed {seed}",
                observers=[Progress()],
            )
        except TraceError as error:
            ctx.fail(f"{trace}: {error}")
        except HistoryError as error:
            ctx.fail(str(error))
    if plot is not None:
        from mead.reports.runs.run_plot import plot_run

        try:
            plot_run(report.run, plot)
        except OSError as error:
            ctx.fail(f"{plot}: cannot be written ({error.strerror or error})")
    if as_json:
        print_json(report.as_json())
        return
    print_parts(report.tables())
    if plot is not None:
        typer.echo(f"Plot: {plot}")
