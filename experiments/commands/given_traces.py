"""The traces that an experiment runs on, from the options of its command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from mead.cli.inputs import UnitOption, read_trace_or_fail

if TYPE_CHECKING:
    from experiments.workloads import Workload
    from mead.workload import Trace


def files_of(
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


def workloads_of(
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
