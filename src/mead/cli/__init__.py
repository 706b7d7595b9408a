"""The ``mead`` command line: parse, call, print, one module per command.

Commands import what they need when they run, so that ``mead --help`` starts fast.
"""

from __future__ import annotations

from typing import Annotated

import typer

import mead
from mead.cli import advise, doctor, evaluate, metrics, preference
from mead.cli.inputs import HelpsWithPolicies
from mead.cli.models import characterize, fit, generate, plan, solve
from mead.cli.runs import demo, explain, history, report, run, serve, simulate, top
from mead.cli.terminal import OneLineErrors

app = typer.Typer(
    name="mead",
    cls=OneLineErrors,
    rich_markup_mode="markdown",
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(generate.app, name="generate")
app.command(cls=fit.SeveralWindows)(fit.fit)
app.command()(characterize.characterize)
app.command()(solve.solve)
app.command()(solve.allocate)
app.command()(advise.advise)
app.command()(demo.demo)
app.command(cls=HelpsWithPolicies)(run.run)
app.command(cls=HelpsWithPolicies)(simulate.simulate)
app.command(cls=evaluate.EvaluateCommand)(evaluate.evaluate)
app.command()(history.history)
app.command()(explain.explain)
app.command()(report.report)
app.command()(serve.serve)
app.command()(top.top)
app.add_typer(metrics.app, name="metrics")
app.command()(doctor.doctor)
app.command(cls=HelpsWithPolicies)(plan.plan)
app.command()(preference.preference)


def main() -> None:
    """Run the program."""
    app()


def _print_version(wanted: bool) -> None:  # noqa: FBT001 - typer passes it so
    if wanted:
        typer.echo(f"mead {mead.__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def program(
    ctx: typer.Context,
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Keep streaming pipelines within a latency bound, at the lowest CPU cost."""
    del version  # handled by its callback
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())
