"""``mead evaluate``: the experiments of the papers, one sub-command each."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mead.cli.terminal import AsJson, Seed, print_json, progress_bar

if TYPE_CHECKING:
    from mead.evaluate.mead_tables import PaperTable
    from mead.evaluate.workloads import Workload

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


@app.command("mead-table1")
def mead_table1(
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
    out: Folder = None,
    as_json: AsJson = False,
) -> None:
    """Table I of the MEAD paper: requirements on the mean response time.

    Example: `mead evaluate mead-table1 --trace bc=bc-paug89.parquet --only bc --policy mg1 --policy adaptive`
    """
    from mead.evaluate.mead_tables import TABLE_1

    workloads = _workloads(ctx, trace, only, duration, demand)
    _compare(ctx, TABLE_1, workloads, requirement, policy, range(seed, seed + seeds), jobs, bounds, out, as_json)


@app.command("mead-table2")
def mead_table2(
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
    out: Folder = None,
    as_json: AsJson = False,
) -> None:
    """Table II of the MEAD paper: requirements on the 95th percentile.

    Example: `mead evaluate mead-table2 --only lm --policy adaptive --seeds 5`
    """
    from mead.evaluate.mead_tables import TABLE_2

    workloads = _workloads(ctx, trace, only, duration, demand)
    _compare(ctx, TABLE_2, workloads, requirement, policy, range(seed, seed + seeds), jobs, bounds, out, as_json)


@app.command("mead-table3")
def mead_table3(
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
    out: Folder = None,
    as_json: AsJson = False,
) -> None:
    """Table III of the MEAD paper: what one window of 25,000, 50,000 or 100,000 inter-arrival times leads to.

    Example: `mead evaluate mead-table3 --only synt`
    """
    from mead.evaluate.mead_tables import TABLE_3

    workloads = _workloads(ctx, trace, only, duration, demand)
    _compare(ctx, TABLE_3, workloads, requirement, policy, range(seed, seed + seeds), jobs, bounds, out, as_json)


def _workloads(
    ctx: typer.Context, traces: list[str] | None, only: list[str] | None, duration_s: float, demand_s: float | None
) -> list[Workload]:
    """The traces that were asked for. Says on standard error which one of the paper is missing."""
    from mead.evaluate.workloads import chosen
    from mead.workload.files import read_trace
    from mead.workload.trace import TraceError

    try:
        files = {name: read_trace(path) if path else None for name, path in map(_name_and_file, traces or ())}
        workloads, missing = chosen(files, only or (), duration_s, demand_s)
    except (TraceError, ValueError) as error:
        ctx.fail(str(error))
    if missing:
        typer.echo(f"{ctx.command_path}: {missing}", err=True)
    return workloads


def _name_and_file(text: str) -> tuple[str, str]:
    name, equals, path = text.partition("=")
    if name in {"synt", "lm"} and equals:
        raise ValueError(f"--trace {text}: {name} is generated and takes no file; give your trace another name")
    if name not in {"synt", "lm"} and not (name and path):
        raise ValueError(f"--trace {text}: write it as NAME=FILE, such as bc=bc-paug89.parquet")
    return name, path


def _compare(
    ctx: typer.Context,
    table: PaperTable,
    workloads: list[Workload],
    requirements: list[str] | None,
    policies: list[str] | None,
    seeds: range,
    jobs: int,
    bounds: bool,  # noqa: FBT001 - as typer has it
    out: Path | None,
    as_json: bool,  # noqa: FBT001
) -> None:
    """Run a table and show it."""
    from mead.config.keys import ConfigError
    from mead.evaluate.comparison import BOUNDS, Contender, PolicyContender, available, results
    from mead.evaluate.comparison_report import NOTE, comparison_tables, write_all
    from mead.evaluate.summary import rows_of
    from mead.evaluate.workloads import required

    try:
        cases = table.cases(workloads, [required(text) for text in requirements or ()])
        contenders: list[Contender] = [PolicyContender.of(text) for text in policies or available(table.policies)]
    except (ConfigError, ValueError) as error:
        ctx.fail(str(error))
    contenders += BOUNDS if bounds else ()
    if out is not None:
        _make_folder(ctx, out)
    done = []
    with progress_bar(len(cases) * len(contenders) * len(seeds)) as show:
        for result in results(cases, contenders, seeds, jobs):
            done.append(result)
            show(f"{result.case.workload.name} {result.label}", len(done))
    rows = rows_of(done)
    name = ctx.info_name or "table"
    written = write_all(out, name, table.title, rows) if out is not None else []
    if as_json:
        print_json(_document(name, rows, written))
        return

    from rich.console import Console

    console = Console()
    console.print(table.title, style="bold")
    for part in comparison_tables(rows):
        console.print()
        console.print(part)
    console.print(f"\n{NOTE}", highlight=False)
    for path in written:
        console.print(f"Written: {path}", highlight=False, markup=False)


def _make_folder(ctx: typer.Context, folder: Path) -> None:
    """Before the work and not after it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        ctx.fail(f"{folder}: cannot be made ({error.strerror or error})")


def _document(name: str, rows: list[Any], written: list[Path]) -> dict[str, Any]:
    return {"experiment": name, "rows": [row.as_json() for row in rows], "files": [str(path) for path in written]}
