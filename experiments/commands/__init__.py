"""The program ``python -m experiments``: one module of commands for each paper."""

from __future__ import annotations

import typer

from experiments.commands import advice, arena, drs, live, mead, mead_figures, pasps, ppq
from mead.cli.terminal import OneLineErrors

app = typer.Typer(
    name="python -m experiments",
    cls=OneLineErrors,
    rich_markup_mode="markdown",
    add_completion=False,
    pretty_exceptions_enable=False,
    subcommand_metavar="EXPERIMENT [OPTIONS]",
)
for module in (mead, mead_figures, live, advice, drs, pasps, ppq, arena):
    module.add_to(app)


@app.callback(invoke_without_command=True)
def experiments(ctx: typer.Context) -> None:
    """Reproduce the tables and figures of the papers, with the published numbers beside ours.

    All but `live`, `drs-live`, `pasps-live`, `ppq-live` and `advice` run in virtual time: the same seed gives the same
    figures. Some examples:

    - `python -m experiments mead-table1 --trace bc=bc-paug89.parquet --seeds 5 --out out`
    - `python -m experiments mead-table2 --only synt --policy adaptive --policy static@share=0.85`
    - `python -m experiments mead-fig3 --out out`
    - `python -m experiments arena --workload synt --policy hybrid --policy drs --seeds 1`
    """
    if ctx.invoked_subcommand is None:
        ctx.fail(f"name an experiment: {', '.join(ctx.command.list_commands(ctx))}")  # type: ignore[attr-defined]
