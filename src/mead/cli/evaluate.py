"""``mead evaluate``: the experiments of the papers, one sub-command each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mead.cli.inputs import AreIats, ColumnName, Sorted, UnitName, UnitOption, check_java, read_trace_or_fail
from mead.cli.terminal import AsJson, Seed, print_json, progress_bar

if TYPE_CHECKING:
    from mead.evaluate.mead_fig3 import Curve
    from mead.evaluate.mead_tables import PaperTable
    from mead.evaluate.workloads import Workload
    from mead.workload.trace import Trace

app = typer.Typer(rich_markup_mode="markdown", no_args_is_help=False, subcommand_metavar="EXPERIMENT [OPTIONS]")

Traces = Annotated[
    list[str] | None,
    typer.Option(
        "--trace",
        metavar="NAME=FILE",
        help="A recorded trace; `bc` is the Bellcore one. May be repeated. With a name that the paper does not have, "
        "only the traces named here are run; `synt` and `lm` need no file.",
    ),
]
Only = Annotated[list[str] | None, typer.Option(metavar="NAME", help="Of all traces, run this one; may be repeated.")]
Requirements = Annotated[
    list[str] | None,
    typer.Option(
        "--requirement",
        metavar="mean=S|p95=S",
        help="In seconds, in place of those of the paper; may be repeated.",
    ),
]
Policies = Annotated[
    list[str] | None,
    typer.Option(
        "--policy",
        metavar="NAME[@KEY=VALUE]",
        help="In place of all: such as `map`, `static@share=0.7`, `adaptive@calm=true`; may be repeated.",
    ),
]
Seeds = Annotated[int, typer.Option(min=1, metavar="N", help="Runs with so many seeds, and shows the spread.")]
Jobs = Annotated[int, typer.Option(min=1, metavar="N", help="Processes at a time; the answers are the same.")]
Duration = Annotated[float, typer.Option(min=1.0, metavar="SECONDS", help="Length of every trace, from its start.")]
Demand = Annotated[
    float | None,
    typer.Option(
        min=1e-9,
        metavar="SECONDS",
        help="CPU seconds per tuple at the matcher: 0.0015 for the paper's traces; for another one what loads a full "
        "share to one half.",
    ),
]
Bounds = Annotated[bool, typer.Option("--bounds/--no-bounds", help="Add the clairvoyant schedules.")]
Folder = Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Write CSV, Markdown and plots there.")]


@app.callback(invoke_without_command=True)
def evaluate(ctx: typer.Context) -> None:
    """Run the experiments of the papers in virtual time, with the published numbers beside ours.

    Every policy runs on the same arrivals and demands. Beside them stand two schedules that know the future, with
    decisions every 10 s and every second: the room that is left for any policy. Examples:

    - `mead evaluate mead-table1 --trace bc=bc-paug89.parquet --seeds 5 --out out`
    - `mead evaluate mead-table2 --only synt --policy adaptive --policy static@share=0.85`
    - `mead evaluate mead-table1 --trace mine=arrivals.csv --requirement mean=0.3 --requirement p95=0.5`
    - `mead evaluate mead-fig3 --out out`
    - `mead evaluate mead-cost`
    """
    if ctx.invoked_subcommand is None:
        ctx.fail(f"which experiment? One of {', '.join(sorted(ctx.command.list_commands(ctx)))}")  # type: ignore[attr-defined]


def _table_command(name: str, table: str, summary: str, example: str) -> None:
    """The tables differ in what they hold, and in nothing else."""

    def command(
        ctx: typer.Context,
        *,
        trace: Traces = None,
        only: Only = None,
        requirement: Requirements = None,
        policy: Policies = None,
        seeds: Seeds = 1,
        seed: Seed = 1,
        jobs: Jobs = 2,
        duration: Duration = 1800.0,
        demand: Demand = None,
        bounds: Bounds = True,
        iat: AreIats = False,
        column: ColumnName = None,
        unit: UnitName = None,
        sort: Sorted = False,
        out: Folder = None,
        as_json: AsJson = False,
    ) -> None:
        from mead.evaluate import mead_tables
        from mead.evaluate.comparison import BOUNDS, Contender, PolicyContender, results
        from mead.evaluate.comparison_report import NOTE, comparison_tables, write_all
        from mead.evaluate.summary import rows_of
        from mead.evaluate.workloads import required

        paper: PaperTable = getattr(mead_tables, table)
        try:
            requirements = [required(text) for text in requirement or ()]
            contenders: list[Contender] = [PolicyContender.of(text) for text in policy or paper.policies]
        except ValueError as error:
            ctx.fail(str(error))
        contenders += BOUNDS if bounds else ()
        files = _files(ctx, trace, iat=iat, column=column, unit=unit, sort=sort)
        cases = paper.cases(_workloads(ctx, files, only, duration, demand), requirements)
        _make_folder(ctx, out)
        done = []
        with progress_bar(len(cases) * len(contenders) * seeds) as show:
            for result in results(cases, contenders, range(seed, seed + seeds), jobs):
                done.append(result)
                show(f"{result.case.workload.name} {result.label}", len(done))
        rows = rows_of(done)
        written = write_all(out, name, paper.title, rows) if out is not None else []
        document = {"experiment": name, "rows": [row.as_json() for row in rows]}
        _show(document, [paper.title, *comparison_tables(rows), NOTE], written, as_json=as_json)

    app.command(name, help=f"{summary}\n\nExample: `mead evaluate {name} {example}`")(command)


_table_command(
    "mead-table1",
    "TABLE_1",
    "Table I of the MEAD paper: requirements on the mean response time.",
    "--trace bc=bc-paug89.parquet --only bc --policy mg1 --policy adaptive",
)
_table_command(
    "mead-table2",
    "TABLE_2",
    "Table II of the MEAD paper: requirements on the 95th percentile.",
    "--only lm --policy adaptive --seeds 5",
)
_table_command(
    "mead-table3",
    "TABLE_3",
    "Table III of the MEAD paper: one window of 25,000, 50,000 or 100,000 inter-arrival times.",
    "--only synt",
)


@app.command("mead-fig3")
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
    as_json: AsJson = False,
) -> None:
    """Fig. 3 of the MEAD paper: predicted and measured response time over utilization, smooth and bursty arrivals.

    Poisson arrivals stand in for the paper's smooth trace. Example: `mead evaluate mead-fig3 --only lm --out out`
    """
    from time import process_time

    from mead.evaluate.mead_fig3 import curve, fig3_tables, write_fig3
    from mead.evaluate.workloads import generated

    files = _files(ctx, trace, iat=iat, column=column, unit=unit, sort=sort)
    workloads = [generated(duration)[0], *_workloads(ctx, files, only, duration, None)]
    _make_folder(ctx, out)
    curves: list[Curve] = []
    with progress_bar(len(workloads)) as show:
        for workload in workloads:
            show(workload.name, len(curves))
            curves.append(curve(workload, seed=seed, clock=process_time))
    written = write_fig3(out, curves) if out is not None else []
    document = {"experiment": "mead-fig3", "curves": [one.as_json() for one in curves]}
    _show(document, fig3_tables(curves), written, as_json=as_json)


@app.command("mead-cost")
def mead_cost(
    ctx: typer.Context,
    *,
    trace: Traces = None,
    only: Only = None,
    policy: Policies = None,
    seed: Seed = 1,
    duration: Duration = 1800.0,
    iat: AreIats = False,
    column: ColumnName = None,
    unit: UnitName = None,
    sort: Sorted = False,
    out: Folder = None,
    as_json: AsJson = False,
) -> None:
    """What deciding costs: a fit, a prediction, a round, and every policy beside the pipeline.

    Times are CPU seconds of this machine. Example: `mead evaluate mead-cost --only synt --policy map`
    """
    from time import process_time

    from mead.config.keys import ConfigError
    from mead.evaluate.comparison import PolicyContender
    from mead.evaluate.mead_cost import MEAN, P95, Costs, cost_tables, loop_cost, steps_of, write_costs
    from mead.evaluate.mead_tables import EVERYONE

    policies = policy or EVERYONE
    try:
        for name in policies:
            PolicyContender.of(name)
    except ConfigError as error:
        ctx.fail(str(error))
    files = _files(ctx, trace, iat=iat, column=column, unit=unit, sort=sort)
    workloads = _workloads(ctx, files, only, duration, None)
    _make_folder(ctx, out)
    done, costs = 0, []
    with progress_bar(len(workloads) * (1 + 2 * len(policies))) as show:
        for workload in workloads:
            show(f"{workload.name}: one step", done)
            steps = tuple(steps_of(workload, seed=seed, clock=process_time))
            loops = []
            for name in policies:
                for requirement in (MEAN, P95):
                    done += 1
                    show(f"{workload.name}: {name}", done)
                    loops.append(loop_cost(workload, name, requirement, seed=seed))
            done += 1
            costs.append(Costs(workload.name, steps, tuple(loops)))
    written = write_costs(out, costs) if out is not None else []
    document = {"experiment": "mead-cost", "costs": [one.as_json() for one in costs]}
    _show(document, [part for one in costs for part in cost_tables(one)], written, as_json=as_json)


def _files(
    ctx: typer.Context, traces: list[str] | None, *, iat: bool, column: str | None, unit: UnitOption, sort: bool
) -> dict[str, Trace | None]:
    """The traces by name; None for one that is to be generated."""
    files: dict[str, Trace | None] = {}
    for text in traces or ():
        name, equals, path = text.partition("=")
        if name in {"synt", "lm"}:
            if equals:
                ctx.fail(f"--trace {text}: {name} is generated and takes no file; give your trace another name")
            files[name] = None
        elif name and path:
            files[name] = read_trace_or_fail(ctx, Path(path), iat=iat, column=column, unit=unit, sort=sort)
        else:
            ctx.fail(f"--trace {text}: write it as NAME=FILE, such as bc=bc-paug89.parquet")
    return files


def _workloads(
    ctx: typer.Context,
    files: dict[str, Trace | None],
    only: list[str] | None,
    duration_s: float,
    demand_s: float | None,
) -> list[Workload]:
    """The traces that were asked for. Says on standard error which one of the paper is missing."""
    from mead.evaluate.workloads import chosen

    try:
        workloads, missing = chosen(files, only or (), duration_s, demand_s)
    except ValueError as error:
        ctx.fail(str(error))
    if missing:
        typer.echo(f"{ctx.command_path}: {missing}", err=True)
    return workloads


def _show(document: dict[str, Any], parts: Iterable[Any], written: list[Path], *, as_json: bool) -> None:
    """One document, or tables and where the files are."""
    if as_json:
        print_json(document | {"files": [str(path) for path in written]})
        return

    from rich.console import Console

    console = Console()
    for part in parts:
        console.print(part, highlight=False)
        console.print()
    for path in written:
        console.print(f"Written: {path}", highlight=False, markup=False)


def _make_folder(ctx: typer.Context, folder: Path | None) -> None:
    """Before the work and not after it."""
    try:
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        ctx.fail(f"{folder}: cannot be made ({error.strerror or error})")


LIVE_POLICIES = ("static", *(f"{name}@interval_s=15" for name in ("threshold", "mg1", "map", "replay")), "adaptive")
"""A run of minutes is too short for decisions every minute."""

AROUND_A_RUN_S = 30.0
"""Queries start and warm up, and end; until it has been seen how long that takes."""

LIVE_REQUIREMENTS = ("mean=0.5", "mean=0.75", "mean=1.0", "mean=1.5", "p95=2")


@app.command()
def live(
    ctx: typer.Context,
    *,
    trace: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Arrivals, such as the Bellcore trace; default generated ones with bursts."),
    ] = None,
    requirement: Requirements = None,
    policy: Policies = None,
    duration: Annotated[float, typer.Option(min=10.0, metavar="SECONDS", help="Of every run.")] = 300.0,
    start: Annotated[float, typer.Option(min=0.0, metavar="SECONDS", help="Begin the trace here.")] = 0.0,
    demand: Annotated[
        float, typer.Option(min=1e-6, metavar="SECONDS", help="CPU seconds per tuple at the matcher.")
    ] = 0.0015,
    folder: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Of the runs; default one that is removed at the end.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Policies on real Spark, in real time, on the same arrivals: kept or not, at what cost, how well foreseen.

    The log analysis of the MEAD paper, with real log lines. Every run takes its duration and about half a minute. A
    policy that does not look at the requirement runs once for all of them. Ctrl-C shows what is done by then.

    Example: `mead evaluate live --trace bc-paug89.parquet --requirement mean=0.75 --policy static --policy adaptive`
    """
    from tempfile import TemporaryDirectory

    from mead.applications.log_analysis.calibration import calibrate
    from mead.cli.live import refuse_used
    from mead.evaluate.comparison import PolicyContender
    from mead.evaluate.live_comparison import LiveComparison, LiveRow, in_order, live_table, runs_of
    from mead.evaluate.workloads import Workload, required
    from mead.execute.detect import detect
    from mead.execute.share_probe import actuation_delay_s
    from mead.spark.quiet_start import SparkStartError, quiet_start
    from mead.spark.session import started
    from mead.workload.trace import TraceError

    if folder is not None:
        refuse_used(ctx, folder)
        _make_folder(ctx, folder)
    check_java(ctx)
    found = detect()
    if found.kind == "none":
        ctx.fail(f"CPU shares cannot be set here: {found}")
    try:
        requirements = list(dict.fromkeys(required(text) for text in requirement or LIVE_REQUIREMENTS))
        policies = [PolicyContender.of(text) for text in dict.fromkeys(policy or LIVE_POLICIES)]
        arrivals = _live_arrivals(ctx, trace, start, duration)
    except (ValueError, TraceError) as error:
        ctx.fail(str(error))
    workload, runs = Workload("live", "live", demand, arrivals), runs_of(requirements, policies)
    try:
        with quiet_start():
            spark = started("mead evaluate live")
    except SparkStartError as error:
        ctx.fail(str(error))
    done: list[list[LiveRow]] = []
    try:
        with TemporaryDirectory() as temporary, _runs_left(len(runs), duration) as show:
            comparison = LiveComparison(
                spark,
                found.open,
                workload,
                arrivals,
                duration,
                calibrate().tried(demand),
                folder or Path(temporary),
                actuation_delay_s(found.open),
            )
            show("calibrating the matcher", 0)
            coming = comparison.calibrated(demand).rows(runs)
            for run in runs:
                show(str(run), len(done))
                done.append(next(coming))
    except KeyboardInterrupt:
        typer.echo(
            f"{ctx.command_path}: interrupted, {len(runs) - len(done)} of {len(runs)} runs are missing", err=True
        )
    finally:
        spark.stop()
    rows = in_order((row for some in done for row in some), requirements, policies)
    document = {"experiment": "live", "rows": [row.as_json() for row in rows], "runs": len(runs), "done": len(done)}
    _show(document, [live_table(rows)], [], as_json=as_json)


@contextmanager
def _runs_left(runs: int, duration_s: float) -> Iterator[Callable[[str, int], None]]:
    """Tells what is run, how many runs are left, and about how long they take: a bar in a terminal, lines elsewhere."""
    import sys
    from time import monotonic

    started_s = monotonic()
    with progress_bar(runs) as bar:

        def show(doing: str, done: int) -> None:
            each_s = (monotonic() - started_s) / done if done else duration_s + AROUND_A_RUN_S
            said = f"run {done + 1} of {runs}, about {_spoken(each_s * (runs - done))} left: {doing}"
            if not sys.stderr.isatty():
                typer.echo(said, err=True)
            bar(said, done)

        yield show


def _spoken(seconds: float) -> str:
    """So that people can plan their day by it.

    >>> _spoken(45.0), _spoken(7260.0)
    ('1 min', '2 h 1 min')
    """
    hours, minutes = divmod(ceil(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"


def _live_arrivals(ctx: typer.Context, trace: Path | None, start_s: float, duration_s: float) -> Trace:
    """As long as a run, and a little longer, for the first of them serve to warm up."""
    import numpy as np

    from mead.spark.build import SPARE_S
    from mead.workload.generators.markovian import Markovian

    length_s = duration_s + SPARE_S
    if trace is None:
        return Markovian(rate_per_s=330.0, idc=200.0, duration_s=length_s).generate(np.random.default_rng(1))
    whole = read_trace_or_fail(ctx, trace, iat=False, column=None, unit=None, sort=False)
    return whole.between(start_s, start_s + length_s)
