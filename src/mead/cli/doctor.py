"""``mead doctor``: check the machine and say what to install."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from mead.cli.terminal import AsJson, print_json

NOT_READY = 1


def doctor(
    ctx: typer.Context,
    folder: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder for streams and checkpoints.")] = Path(),
    *,
    as_json: AsJson = False,
) -> None:
    """Check whether this machine can run pipelines on Spark.

    Runs a small Spark job and limits the CPU of a process. Each line shows one result and, if something is missing,
    the command that installs it. Exits with 0 if everything required works, else with 1.

    Example: `mead doctor`
    """
    from rich.console import Console
    from rich.text import Text

    from mead.spark.runtime.doctor import run_checks

    if not folder.is_dir():
        ctx.fail(f"{folder}: no such folder; create it first")
    console = Console(soft_wrap=True)
    colours = {"ok": "green", "missing": "red", "optional": "yellow"}
    done = []
    for check in run_checks(folder=folder):
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
