"""Commands ``mead-table1`` to ``mead-table3`` and ``mead-cost``: the tables of the MEAD paper, and its cost."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import typer

from experiments.commands.given_traces import files_of, workloads_of
from experiments.commands.options import (
    Bounds,
    Demand,
    Duration,
    Folder,
    Free,
    Jobs,
    Only,
    Others,
    Plots,
    Policies,
    Requirements,
    Seeds,
    Traces,
    make_folder,
    show,
)
from mead.cli.inputs import AreIats, ColumnName, Sorted, UnitName
from mead.cli.terminal import AsJson, Seed, progress_bar

if TYPE_CHECKING:
    from experiments.mead_paper.tables import PaperTable

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
    """Add the tables of MEAD, under their names."""
    for table in TABLES:
        _add_table(app, *table)
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
        free: Free = False,
        others: Others = None,
        iat: AreIats = False,
        column: ColumnName = None,
        unit: UnitName = None,
        sort: Sorted = False,
        out: Folder = None,
        plot: Plots = None,
        as_json: AsJson = False,
    ) -> None:
        from experiments.comparison import BOUNDS, Contender, PolicyContender, results
        from experiments.mead_paper import tables as mead_tables
        from experiments.mead_paper.report import NOTE, comparison_tables, plot_all, window_conclusions, write_all
        from experiments.mead_paper.rows import rows_of
        from experiments.workloads import required

        paper: PaperTable = getattr(mead_tables, table)
        try:
            requirements = [required(text) for text in requirement or ()]
            contenders: list[Contender] = [PolicyContender.of(text) for text in policy or paper.policies]
        except ValueError as error:
            ctx.fail(str(error))
        if others is not None and not free:
            ctx.fail("--others needs --free: parser and counter have a share of 0.40 otherwise")
        contenders += BOUNDS if bounds and not free else ()  # they know one operator alone
        files = files_of(ctx, trace, iat=iat, column=column, unit=unit, sort=sort)
        workloads = [
            replace(workload, free=free, others=others or workload.others)
            for workload in workloads_of(ctx, files, only, duration, demand)
        ]
        cases = paper.cases(workloads, requirements)
        for folder in (out, plot):
            make_folder(ctx, folder)
        done = []
        with progress_bar(len(cases) * len(contenders) * seeds) as tell:
            for result in results(cases, contenders, range(seed, seed + seeds), jobs):
                done.append(result)
                tell(f"{result.case.workload.name} {result.label}", len(done))
        rows = rows_of(done)
        written = write_all(out, name, paper.title, rows) if out is not None else []
        written += plot_all(plot, name, rows) if plot is not None else []
        document = {"experiment": name, "rows": [row.as_json() for row in rows]}
        parts = [paper.title, *comparison_tables(rows), *window_conclusions(rows), NOTE]
        show(document, parts, written, as_json=as_json)

    app.command(name, help=f"{summary}\n\nExample: `python -m experiments {name} {example}`")(command)


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
    files = files_of(ctx, trace, iat=iat, column=column, unit=unit, sort=sort)
    workloads = workloads_of(ctx, files, only, duration, None)
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
