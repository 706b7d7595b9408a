"""``mead solve`` and ``mead allocate``: solve a case from a JSON file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from mead.cli.inputs import read_case
from mead.cli.terminal import AsJson, print_json

if TYPE_CHECKING:
    from pydantic import BaseModel

    Keys = TypeVar("Keys", bound=BaseModel)
    Answer = TypeVar("Answer")

CasePath = Annotated[Path, typer.Argument(metavar="CASE", help="A case in JSON; `-` reads it from standard input.")]


def solve(ctx: typer.Context, case: CasePath, *, as_json: AsJson = False) -> None:
    """Compute response times of one queue, or of every operator and path of a pipeline.

    The case has arrivals, operators, edges, model and percentiles; `examples/` has one of each kind.

    Example: `mead solve examples/solve-log-analysis.json`
    """
    from mead.config.solve_case import SolveCase
    from mead.reports.models.solve import solution_table, solve_case

    answer = _solve_or_fail(ctx, case, SolveCase, solve_case)
    if as_json:
        print_json(answer.as_json())
        return

    from rich.console import Console

    Console().print(solution_table(answer))


def allocate(ctx: typer.Context, case: CasePath, *, as_json: AsJson = False) -> None:
    """Assign processors to the operators of a network with splits, joins and loops, after DRS (Fu et al. 2017).

    The case has rates (`lambda0` and `lambda_i`, or `gamma` and `G`), service rates `mu_i`, SCVs `a_i` and `s_i`, a
    `model`, and either `Kmax` processors to assign or a sojourn time `Tmax` to meet with the fewest.

    Example: `mead allocate examples/allocate-video.json`
    """
    from mead.config.allocate_case import AllocateCase
    from mead.reports.models.allocate import solve_allocation

    answer = _solve_or_fail(ctx, case, AllocateCase, solve_allocation)
    if as_json:
        print_json(answer.as_json())
        return

    from rich.console import Console

    for part in answer.parts():
        Console().print(part, highlight=False)


def _solve_or_fail(ctx: typer.Context, case: Path, keys: type[Keys], solve: Callable[[Keys], Answer]) -> Answer:
    from mead.keys import ConfigError, parse

    try:
        return solve(parse(keys, read_case(case)))
    except ConfigError as error:
        ctx.fail(f"{'standard input' if str(case) == '-' else case}: {error}")
