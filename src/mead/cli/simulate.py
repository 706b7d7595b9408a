"""``mead simulate``: a pipeline under a policy, in virtual time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from mead.cli.inputs import (
    PLOT_ENDINGS,
    POLICY_NAMES,
    AreIats,
    ColumnName,
    PipelinePath,
    PlotPath,
    Sorted,
    TracePath,
    UnitName,
    read_pipeline_or_fail,
    read_trace_or_fail,
)
from mead.cli.terminal import AsJson, Seed, check_writable, print_json

if TYPE_CHECKING:
    from mead.knowledge.round import Round


def simulate(
    ctx: typer.Context,
    pipeline: PipelinePath,
    *,
    trace: TracePath,
    policy: Annotated[
        str | None,
        typer.Option(metavar="NAME", help=f"{', '.join(POLICY_NAMES)}; default the one of the pipeline file."),
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="An option of the policy, as in a pipeline file; may be repeated."),
    ] = None,
    duration: Annotated[float | None, typer.Option(metavar="SECONDS", help="Only the first part of the trace.")] = None,
    iat: AreIats = False,
    column: ColumnName = None,
    unit: UnitName = None,
    sort: Sorted = False,
    seed: Seed = 0,
    plot: PlotPath = None,
    as_json: AsJson = False,
) -> None:
    """Run a pipeline under a policy in virtual time: half an hour takes seconds.

    Shows what the response times were, whether the requirements were met, and what it cost. The options of every
    policy, with unit and default, are in `docs/reference/pipeline-file.md`.

    Example: `mead simulate examples/log-analysis.yaml --trace arrivals.parquet --policy map --option best=3`
    """
    from mead.config.keys import ConfigError
    from mead.config.policy_choice import chosen_policy
    from mead.evaluate.experiment import run
    from mead.evaluate.run_report import RunReport
    from mead.plan import registry
    from mead.simulate.conditions import Conditions
    from mead.workload.trace import TraceError

    if plot is not None:
        check_writable(ctx, plot, PLOT_ENDINGS)
    file = read_pipeline_or_fail(ctx, pipeline)
    try:
        options = chosen_policy(file.policy, policy, option or [])
    except ConfigError as error:
        ctx.fail(str(error))
    arrivals = read_trace_or_fail(ctx, trace, iat=iat, column=column, unit=unit, sort=sort)
    if duration is not None:
        try:
            arrivals = arrivals.between(0.0, duration)
        except TraceError as error:
            ctx.fail(f"{trace}: {error}")
    delay_s = file.knowledge.actuation_delay_s
    conditions = Conditions(share_delay_s=delay_s, replicas_delay_s=delay_s)
    with _progress_bar(arrivals.duration_s) as progress:
        result = run(
            file.pipeline, arrivals, registry.policy(options), seed=seed, conditions=conditions, progress=progress
        )
    report = RunReport.of(result, seed)
    if plot is not None:
        from mead.evaluate.run_plot import plot_run

        try:
            plot_run(result, plot)
        except OSError as error:
            ctx.fail(f"{plot}: cannot be written ({error.strerror or error})")
    if as_json:
        print_json(report.as_json())
        return

    from rich.console import Console

    from mead.evaluate.run_tables import run_tables

    console = Console()
    for part in run_tables(report):
        console.print(part)
        console.print()
    if plot is not None:
        console.print(f"Plot: {plot}", highlight=False, markup=False)


@contextmanager
def _progress_bar(duration_s: float) -> Iterator[Callable[[Round], None]]:
    """Virtual time on standard error, while there is somebody to look at it."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("Simulating", total=duration_s)
        yield lambda this: bar.update(task, completed=this.time_s)
