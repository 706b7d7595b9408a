"""``mead solve``: response times of a queue or a pipeline."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mead.cli.inputs import read_case
from mead.cli.terminal import AsJson, print_json


def solve(
    ctx: typer.Context,
    case: Annotated[Path, typer.Argument(metavar="CASE", help="A case in JSON; `-` reads it from standard input.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Response times of one queue, or of every operator and path of a pipeline.

    The case names arrivals, operators, edges, model and percentiles; `examples/` has one of each kind.

    Example: `mead solve examples/solve-log-analysis.json`
    """
    from mead.config.solve_case import SolveCase
    from mead.keys import ConfigError, parsed
    from mead.reports.models.solve import solve_case

    from_stdin = str(case) == "-"
    try:
        keys = parsed(SolveCase, read_case(case))
        answer = solve_case(keys)
    except ConfigError as error:
        ctx.fail(f"{'standard input' if from_stdin else case}: {error}")
    if as_json:
        print_json(answer.as_json())
        return

    from rich.console import Console

    from mead.reports.tables import solution_table

    Console().print(solution_table(answer, keys.model))
