"""``mead evaluate``: compare policies on a pipeline file and a trace, in virtual time or live on Spark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mead.cli.inputs import (
    PLOT_ENDINGS,
    AreIats,
    ColumnName,
    HelpsWithPolicies,
    PipelinePath,
    PlotPath,
    Sorted,
    Trust,
    UnitName,
    policy_or_fail,
    read_pipeline_or_fail,
    read_trace_or_fail,
)
from mead.cli.runs.spark_run import FAILED
from mead.cli.terminal import AsJson, Seed, check_writable, collect, print_json, print_parts
from mead.extras import require

if TYPE_CHECKING:
    from mead.config import PipelineFile
    from mead.policies import PolicyOptions
    from mead.reports.comparison import Trial
    from mead.workload import Trace

EXPERIMENTS = (
    *("mead-table1", "mead-table2", "mead-table3", "mead-fig3", "mead-cost"),
    *("drs-fig6", "drs-fig8", "drs-fig9", "drs-fig10", "drs-table2"),
    *("pasps-models", "pasps-storm", "pasps-peers", "pasps-complex", "pasps-datasets"),
    *("ppq-fit", "ppq-fig9", "ppq-fig10", "ppq-fig11", "ppq-fig12", "ppq-tables", "ppq-fig17", "ppq-fig18", "ppq-live"),
    *("live", "arena", "hybrid"),
)
"""Experiments that `mead evaluate` ran before they moved out of the package."""

LIVE_S = 120.0
"""Default duration of a live run."""


class EvaluateCommand(HelpsWithPolicies):
    """Names the new place of an experiment before any of its options is read."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """Parse the command line, unless it asks for an experiment."""
        if args and args[0] in EXPERIMENTS and not Path(args[0]).exists():
            ctx.fail(
                f"{args[0]} is an experiment of the papers; run `python -m experiments {args[0]}` in a clone of the "
                f"repository"
            )
        return super().parse_args(ctx, args)


def evaluate(
    ctx: typer.Context,
    pipeline: PipelinePath,
    *,
    trace: Annotated[
        Path | None,
        typer.Option(
            "--trace",
            "-t",
            metavar="FILE",
            help="Arrivals at the source: Parquet, CSV, text or .npy. Live, the default is the source of the file.",
        ),
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            "--policy",
            metavar="NAME[@KEY=VALUE]",
            help="Compare this policy, such as `map` or `static@share=0.7`; may be repeated. Default all; live, the "
            "policy of the file and `static`.",
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, metavar="N", help="Simulate each policy with this many seeds.")] = 1,
    seed: Seed = 0,
    duration: Annotated[
        float | None,
        typer.Option(min=1.0, metavar="SECONDS", help="First part of the trace; live, the length of a run (120)."),
    ] = None,
    iat: AreIats = False,
    column: ColumnName = None,
    unit: UnitName = None,
    sort: Sorted = False,
    live: Annotated[bool, typer.Option("--live", help="Run each policy on Spark, one after the other.")] = False,
    folder: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Folder for live runs; default a new one in `runs/`.")
    ] = None,
    plot: PlotPath = None,
    trust: Trust = False,
    as_json: AsJson = False,
) -> None:
    """Compare policies on your pipeline and trace.

    Each policy meets the same arrivals and demands. The table shows the requirements met, the cores given, and names
    the cheapest policy that meets all requirements.

    Examples: `mead evaluate examples/log-analysis.yaml --trace arrivals.parquet --seeds 3`,
    `mead evaluate my-pipeline.yaml --live --duration 300 --policy static --policy adaptive`
    """
    from mead.reports.comparison import Comparison

    if live and plot is not None:
        ctx.fail("--plot draws simulated runs; `mead report` writes a page about a live run")
    if not live and trace is None:
        ctx.fail("give the arrivals by --trace FILE, or run on Spark with --live")
    if plot is not None:
        require("plot", "--plot")
        check_writable(ctx, plot, PLOT_ENDINGS)
    file = read_pipeline_or_fail(ctx, pipeline)
    if not file.pipeline.requirements:
        ctx.fail(f"{pipeline}: requirements: give at least one; policies are compared by the bounds that they meet")
    trusted = trust or live  # a live run runs the code of the file in any case
    names = policy or _usual(file, live=live)
    chosen = {text: _options(ctx, pipeline, file, text, named=bool(policy), trust=trusted) for text in names}
    arrivals, failed = None, list[str]()
    if trace is not None:
        arrivals = read_trace_or_fail(ctx, trace, iat=iat, column=column, unit=unit, sort=sort)
    if live or arrivals is None:
        place = folder or _new_folder(file)
        runs = _live(ctx, file, pipeline.parent, chosen, arrivals, duration or LIVE_S, place, failed, quiet=as_json)
    else:
        runs = _simulated(ctx, file, chosen, _first(ctx, arrivals, duration), range(seed, seed + seeds))
    trials = collect(runs, len(chosen) * (1 if live else seeds), lambda trial: trial.policy)
    arrivals_name = "its own source" if trace is None else trace.name
    comparison = Comparison.of(file.pipeline.name, arrivals_name, "spark" if live else "simulator", trials)
    if plot is not None:
        _plot(ctx, f"{file.pipeline.name}, {arrivals_name}, seed {seed}", [t for t in trials if t.seed == seed], plot)
    if as_json:
        print_json(comparison.as_json())
    else:
        print_parts([*comparison.parts(), *([] if plot is None else [f"Plot: {plot}"])])
    if failed:
        raise typer.Exit(FAILED)


def _usual(file: PipelineFile, *, live: bool) -> list[str]:
    """The policy of the file first, then all others; live, only ``static`` beside it."""
    from mead.policies import policy_names

    return list(dict.fromkeys([file.policy.name, *(["static"] if live else policy_names())]))


def _options(
    ctx: typer.Context, path: Path, file: PipelineFile, text: str, *, named: bool, trust: bool
) -> PolicyOptions:
    """Read ``name@key=value@key=value``."""
    name, *settings = text.split("@")
    return policy_or_fail(ctx, path, file, name, settings, named=named, trust=trust)


def _new_folder(file: PipelineFile) -> Path:
    from mead.spark.pipeline.file_run import new_folder

    return new_folder(f"evaluate-{file.pipeline.name}")


def _first(ctx: typer.Context, arrivals: Trace, duration_s: float | None) -> Trace:
    """The first part of a trace."""
    from mead.workload import TraceError

    try:
        return arrivals if duration_s is None else arrivals.between(0.0, duration_s)
    except TraceError as error:
        ctx.fail(f"--trace: {error}")


def _simulated(
    ctx: typer.Context, file: PipelineFile, chosen: dict[str, PolicyOptions], arrivals: Trace, seeds: Sequence[int]
) -> Iterator[Trial]:
    """Simulate every policy with every seed."""
    from mead.api import simulate
    from mead.reports.comparison import Trial
    from mead.workload import TraceError

    for text, options in chosen.items():
        for seed in seeds:
            try:
                report = simulate(file, arrivals, policy=options, seed=seed)
            except TraceError as error:
                ctx.fail(f"--trace: {error}")
            yield Trial.of_simulation(text, seed, report.run)


def _live(
    ctx: typer.Context,
    file: PipelineFile,
    beside: Path,
    chosen: dict[str, PolicyOptions],
    arrivals: Trace | None,
    duration_s: float,
    folder: Path,
    failed: list[str],
    *,
    quiet: bool,
) -> Iterator[Trial]:
    """Run every policy on Spark, each in its own folder.

    Add those whose run or report did not work to ``failed``.

    Ctrl-C ends the comparison after the current run.
    """
    from mead.cli.runs.display import Display
    from mead.cli.runs.spark_run import failures, refuse_used, warn
    from mead.reports.comparison import Trial
    from mead.spark.pipeline.end_requests import EndRequests
    from mead.spark.pipeline.file_run import FolderReport, RunSettings, run_file

    source = file.keys.source
    if arrivals is not None and (source is None or not (source.trace or source.generate)):
        ctx.fail("--trace needs a pipeline file whose source is `trace` or `generate`: that makes the tuples")
    refuse_used(ctx, folder)
    for text, options in chosen.items():
        place = folder / text
        settings = RunSettings(options, place, duration_s=duration_s, arrivals=arrivals)
        with failures(ctx, place), EndRequests() as requests:
            report = run_file(file, beside, settings, observers=[Display(quiet=quiet)], requests=requests)
            written = FolderReport.write(report, place, warn=warn)
        yield Trial.of_live(text, report)
        if report.result.failure:
            warn(f"{ctx.command_path}: the run of {text} did not work: {report.result.failure}")
        if report.result.failure or written.page is None:
            failed.append(text)
        if report.result.interrupted or report.result.loss:
            warn(f"{ctx.command_path}: the run of {text} ended early; later policies are missing")
            return


def _plot(ctx: typer.Context, title: str, trials: Sequence[Trial], path: Path) -> None:
    from mead.reports.comparison_plot import Panel, plot_comparison

    panels = [Panel(one.policy, one.outcome, one.course) for one in trials if one.outcome and one.course]
    try:
        plot_comparison(title, panels, path)
    except OSError as error:
        ctx.fail(f"{path}: cannot be written ({error.strerror or error})")
