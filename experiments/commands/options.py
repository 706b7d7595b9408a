"""Options that experiments share, and how they show what they found."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from mead.cli.terminal import print_json, print_parts

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
Seeds = Annotated[int, typer.Option(min=1, metavar="N", help="Runs with so many seeds.")]
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


def show(document: dict[str, Any], parts: Iterable[Any], written: list[Path], *, as_json: bool) -> None:
    """Print one JSON document; or tables, and where the files are."""
    if as_json:
        print_json(document | {"files": [str(path) for path in written]})
        return
    print_parts(parts)
    for path in written:
        typer.echo(f"Written: {path}")


def make_folder(ctx: typer.Context, folder: Path | None) -> None:
    """Before the work and not after it."""
    try:
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        ctx.fail(f"{folder}: cannot be made ({error.strerror or error})")
