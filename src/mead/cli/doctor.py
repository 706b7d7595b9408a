"""``mead doctor``: is this machine ready, and what to install."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from mead.cli.terminal import AsJson, print_json

NOT_READY = 1


def doctor(
    ctx: typer.Context,
    folder: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Where streams and checkpoints would be kept.")
    ] = Path(),
    *,
    as_json: AsJson = False,
) -> None:
    """Whether this machine is ready to run pipelines on Spark, and what to install.

    Tries everything: a small Spark job, a process held to a CPU share. Every line says what was found and, if something
    is missing, what to type. The exit code is 0 if all that is needed works, and 1 if not.

    Example: `mead doctor`
    """
    from rich.console import Console
    from rich.text import Text

    from mead.spark.runtime.doctor import checks

    if not folder.is_dir():
        ctx.fail(f"{folder}: there is no such folder; make it first")
    console = Console(soft_wrap=True)
    colours = {"ok": "green", "missing": "red", "optional": "yellow"}
    done = []
    for check in checks(folder=folder):
        done.append(check)
        if not as_json:
            console.print(Text(f"{check.status:<9}", colours[check.status]) + Text(f"{check.name:<11} {check.found}"))
            if check.remedy:
                console.print(Text(f"{'':<21}{check.remedy}", "bold"))
    ready = all(check.status != "missing" for check in done)
    if as_json:
        print_json({"ready": ready, "checks": [asdict(check) for check in done]})
    if not ready:
        raise typer.Exit(NOT_READY)
