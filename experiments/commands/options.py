"""Options and output that experiments share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, Protocol

import typer

from mead.cli.terminal import print_json, print_parts

Traces = Annotated[
    list[str] | None,
    typer.Option(
        "--trace",
        metavar="NAME=FILE",
        help="A recorded trace; `bc` is the Bellcore trace. May be repeated. If the paper does not have the name, only "
        "the traces named here are run; `synt` and `lm` need no file.",
    ),
]
Only = Annotated[list[str] | None, typer.Option(metavar="NAME", help="Run only this trace; may be repeated.")]
Requirements = Annotated[
    list[str] | None,
    typer.Option(
        "--requirement",
        metavar="mean=S|p95=S",
        help="Requirement in seconds, in place of those of the paper; may be repeated.",
    ),
]
Policies = Annotated[
    list[str] | None,
    typer.Option(
        "--policy",
        metavar="NAME[@KEY=VALUE]",
        help="Run only this policy, such as `map`, `static@share=0.7`, `adaptive@calm=true`; may be repeated.",
    ),
]
Seeds = Annotated[int, typer.Option(min=1, metavar="N", help="Repeat every run with this many seeds.")]
Jobs = Annotated[int, typer.Option(min=1, metavar="N", help="Number of processes; the results do not depend on it.")]
Duration = Annotated[float, typer.Option(min=1.0, metavar="SECONDS", help="Length of every trace, from its start.")]
Demand = Annotated[
    float | None,
    typer.Option(
        min=1e-9,
        metavar="SECONDS",
        help="CPU seconds per tuple at the matcher; default 0.0015 for the paper's traces, and for others the demand "
        "that loads a full share to one half.",
    ),
]
Bounds = Annotated[bool, typer.Option("--bounds/--no-bounds", help="Add the clairvoyant schedules.")]
Folder = Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Write CSV, Markdown and plots there.")]

Plots = Annotated[Path | None, typer.Option("--plot", metavar="DIR", help="Draw the figures there, as PNG files.")]
Free = Annotated[
    bool,
    typer.Option("--free", help="Choose the shares of all operators, and require the same of both paths."),
]
Others = Annotated[
    float | None,
    typer.Option(
        min=1e-3, metavar="PART", help="With --free: demand of parser and counter over the matcher's; default 1/15."
    ),
]


class JsonEntry(Protocol):
    """One entry of a document."""

    def as_json(self) -> dict[str, Any]:
        """Plain values."""


def show_entries(name: str, key: str, entries: Sequence[JsonEntry], parts: Iterable[Any], *, as_json: bool) -> None:
    """Print an experiment as one document with a list of entries, or as tables and conclusions."""
    if as_json:
        print_json({"experiment": name, key: [entry.as_json() for entry in entries]})
    else:
        print_parts(parts)


def show(document: dict[str, Any], parts: Iterable[Any], written: list[Path], *, as_json: bool) -> None:
    """Print one JSON document, or tables and the names of written files."""
    if as_json:
        print_json(document | {"files": [str(path) for path in written]})
        return
    print_parts(parts)
    for path in written:
        typer.echo(f"Written: {path}")


def make_folder(ctx: typer.Context, folder: Path | None) -> None:
    """Make the folder of the results before the work begins."""
    try:
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        ctx.fail(f"{folder}: cannot be made ({error.strerror or error})")
