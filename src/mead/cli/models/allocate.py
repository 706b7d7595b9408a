"""``mead allocate``: where to place processors, after DRS."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mead.cli.inputs import read_case
from mead.cli.terminal import AsJson, print_json


def allocate(
    ctx: typer.Context,
    case: Annotated[Path, typer.Argument(metavar="CASE", help="A case in JSON; `-` reads it from standard input.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Processors for every operator of a network with splits, joins and loops, after DRS (Fu et al. 2017).

    The case names rates (`lambda0` and `lambda_i`, or `gamma` and `G`), service rates `mu_i`, SCVs `a_i` and `s_i`, a
    `model`, and either `Kmax` processors to place or a sojourn time `Tmax` to keep with the fewest.

    Example: `mead allocate examples/allocate-video.json`
    """
    from mead.config.allocate_case import AllocateCase
    from mead.keys import ConfigError, parsed
    from mead.reports.models.allocate import allocate as solved

    from_stdin = str(case) == "-"
    try:
        answer = solved(parsed(AllocateCase, read_case(case)))
    except ConfigError as error:
        ctx.fail(f"{'standard input' if from_stdin else case}: {error}")
    if as_json:
        print_json(answer.as_json())
        return

    from rich.console import Console

    for part in answer.parts():
        Console().print(part, highlight=False)
