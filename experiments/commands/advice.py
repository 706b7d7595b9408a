"""Command ``advice``: check advice from an event log against runs at other sizes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from experiments.commands.options import Seeds, show
from mead.cli.inputs import check_java
from mead.cli.terminal import AsJson


def advice(
    ctx: typer.Context,
    *,
    query: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="`lookup` (waits in Python), `python` (computes) or `java`; may be repeated."
        ),
    ] = None,
    duration: Annotated[float, typer.Option(min=10.0, metavar="SECONDS", help="Of every run.")] = 60.0,
    seeds: Seeds = 1,
    as_json: AsJson = False,
) -> None:
    """Predict response times at other sizes from an event log, run the query there, and compare.

    Every query runs on local Spark with two cores; its event log, without stamps, predicts one and four cores and other
    loads. Each of the five runs takes its duration and half a minute.

    Example: `python -m experiments advice --query lookup --duration 40`
    """
    from tempfile import TemporaryDirectory

    from experiments.live.advice import QUERIES, advice_table, check_advice, summary

    unknown = [name for name in query or () if name not in QUERIES]
    if unknown:
        ctx.fail(f"there is no query {unknown[0]}; choose from {', '.join(QUERIES)}")
    check_java(ctx)
    rows = []
    with TemporaryDirectory() as folder:
        for seed in range(1, seeds + 1):
            for name in dict.fromkeys(query or QUERIES):
                rows += check_advice(
                    name, duration, Path(folder), seed, lambda doing: typer.echo(f"Running {doing}", err=True)
                )
    document = {"experiment": "advice", "rows": [row.as_json() for row in rows]}
    show(document, [advice_table(rows, duration), summary(rows)], [], as_json=as_json)


def add_to(app: typer.Typer) -> None:
    """Add it to the experiments."""
    app.command("advice")(advice)
