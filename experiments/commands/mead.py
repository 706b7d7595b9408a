"""Commands ``mead-...``: the experiments of the MEAD paper (Russo Russo et al. 2021)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from experiments.commands.options import (
    Bounds,
    Demand,
    Duration,
    Folder,
    Jobs,
    Only,
    Policies,
    Requirements,
    Seeds,
    Traces,
    make_folder,
    show,
)
from mead.cli.inputs import AreIats, ColumnName, Sorted, UnitName, UnitOption, read_trace_or_fail
from mead.cli.terminal import AsJson, Seed, progress_bar

if TYPE_CHECKING:
    from experiments.mead_paper.fig3 import Curve
    from experiments.mead_paper.tables import PaperTable
    from experiments.workloads import Workload
    from mead.workload import Trace

TABLES = (
    (
        "mead-table1",
        "TABLE_1",
        "Table I of the MEAD paper: requirements on the mean response time.",
        "--trace bc=bc-paug89.parquet --only bc --policy mg1 --policy adaptive",
    ),
    (
        "mead-table2",
        "TABLE_2",
        "Table II of the MEAD paper: requirements on the 95th percentile.",
        "--only lm --policy adaptive --seeds 5",
    ),
    (
        "mead-table3",
        "TABLE_3",
        "Table III of the MEAD paper: one window of 25,000, 50,000 or 100,000 inter-arrival times.",
        "--only synt",
    ),
)


def add_to(app: typer.Typer) -> None:
    """Add all experiments of MEAD, under their names."""
    for table in TABLES:
        _add_table(app, *table)
    app.command("mead-fig3")(mead_fig3)
    app.command("mead-cost")(mead_cost)


def _add_table(app: typer.Typer, name: str, table: str, summary: str, example: str) -> None:
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
        from experiments.comparison import BOUNDS, Contender, PolicyContender, results
        from experiments.mead_paper import tables as mead_tables
        from experiments.mead_paper.report import NOTE, comparison_tables, write_all
        from experiments.mead_paper.rows import rows_of
        from experiments.workloads import required

        paper: PaperTable = getattr(mead_tables, table)
        try:
            requirements = [required(text) for text in requirement or ()]
            contenders: list[Contender] = [PolicyContender.of(text) for text in policy or paper.policies]
        except ValueError as error:
            ctx.fail(str(error))
        contenders += BOUNDS if bounds else ()
        files = _files(ctx, trace, iat=iat, column=column, unit=unit, sort=sort)
        cases = paper.cases(_workloads(ctx, files, only, duration, demand), requirements)
        make_folder(ctx, out)
        done = []
        with progress_bar(len(cases) * len(contenders) * seeds) as tell:
            for result in results(cases, contenders, range(seed, seed + seeds), jobs):
                done.append(result)
                tell(f"{result.case.workload.name} {result.label}", len(done))
        rows = rows_of(done)
        written = write_all(out, name, paper.title, rows) if out is not None else []
        document = {"experiment": name, "rows": [row.as_json() for row in rows]}
        show(document, [paper.title, *comparison_tables(rows), NOTE], written, as_json=as_json)

    app.command(name, help=f"{summary}\n\nExample: `python -m experiments {name} {example}`")(command)


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

    Poisson arrivals stand in for the paper's smooth trace.

    Example: `python -m experiments mead-fig3 --only lm --out out`
    """
    from time import process_time

    from experiments.mead_paper.fig3 import curve, fig3_tables, write_fig3
    from experiments.workloads import generated

    files = _files(ctx, trace, iat=iat, column=column, unit=unit, sort=sort)
    workloads = [generated(duration)[0], *_workloads(ctx, files, only, duration, None)]
    make_folder(ctx, out)
    curves: list[Curve] = []
    with progress_bar(len(workloads)) as tell:
        for workload in workloads:
            tell(workload.name, len(curves))
            curves.append(curve(workload, seed=seed, clock=process_time))
    written = write_fig3(out, curves) if out is not None else []
    document = {"experiment": "mead-fig3", "curves": [one.as_json() for one in curves]}
    show(document, fig3_tables(curves), written, as_json=as_json)


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
    """CPU time of a fit, a prediction, a control round, and of every policy beside the pipeline.

    Times are CPU seconds of this machine.

    Example: `python -m experiments mead-cost --only synt --policy map`
    """
    from time import process_time

    from experiments.comparison import PolicyContender
    from experiments.mead_paper.cost import MEAN, P95, Costs, cost_tables, loop_cost, steps_of, write_costs
    from experiments.mead_paper.tables import EVERYONE
    from mead.keys import ConfigError

    policies = policy or EVERYONE
    try:
        for name in policies:
            PolicyContender.of(name)
    except ConfigError as error:
        ctx.fail(str(error))
    files = _files(ctx, trace, iat=iat, column=column, unit=unit, sort=sort)
    workloads = _workloads(ctx, files, only, duration, None)
    make_folder(ctx, out)
    done, costs = 0, []
    with progress_bar(len(workloads) * (1 + 2 * len(policies))) as tell:
        for workload in workloads:
            tell(f"{workload.name}: one step", done)
            steps = tuple(steps_of(workload, seed=seed, clock=process_time))
            loops = []
            for name in policies:
                for requirement in (MEAN, P95):
                    done += 1
                    tell(f"{workload.name}: {name}", done)
                    loops.append(loop_cost(workload, name, requirement, seed=seed))
            done += 1
            costs.append(Costs(workload.name, steps, tuple(loops)))
    written = write_costs(out, costs) if out is not None else []
    document = {"experiment": "mead-cost", "costs": [one.as_json() for one in costs]}
    show(document, [part for one in costs for part in cost_tables(one)], written, as_json=as_json)


def _files(
    ctx: typer.Context, traces: list[str] | None, *, iat: bool, column: str | None, unit: UnitOption, sort: bool
) -> dict[str, Trace | None]:
    """The traces by name; None for one that has to be generated."""
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
    from experiments.workloads import chosen

    try:
        workloads, missing = chosen(files, only or (), duration_s, demand_s)
    except ValueError as error:
        ctx.fail(str(error))
    if missing:
        typer.echo(f"{ctx.command_path}: {missing}", err=True)
    return workloads
