"""``mead evaluate``: the experiments of the papers and our own, one module for each paper."""

from __future__ import annotations

import typer

from experiments.commands import arena, drs, live, mead, pasps, ppq

app = typer.Typer(rich_markup_mode="markdown", no_args_is_help=False, subcommand_metavar="EXPERIMENT [OPTIONS]")
for experiments in (mead, live, drs, pasps, ppq, arena):
    experiments.add_to(app)


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
