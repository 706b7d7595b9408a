"""``mead plan``: the allocations that policies would choose now."""

from __future__ import annotations

from itertools import count
from typing import Annotated

import typer

from mead.cli.inputs import (
    POLICIES,
    AreIats,
    ColumnName,
    PipelinePath,
    Sorted,
    TracePath,
    Trust,
    UnitName,
    policy_or_fail,
    read_pipeline_or_fail,
    read_trace_or_fail,
)
from mead.cli.terminal import AsJson, Seed, print_json, progress_bar


def plan(
    ctx: typer.Context,
    pipeline: PipelinePath,
    *,
    trace: TracePath,
    policy: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help=f"{POLICIES}; may be repeated; default all of them."),
    ] = None,
    iat: AreIats = False,
    column: ColumnName = None,
    unit: UnitName = None,
    sort: Sorted = False,
    seed: Seed = 0,
    trust: Trust = False,
    as_json: AsJson = False,
) -> None:
    """Compare the allocations that policies would choose at the end of a trace, and the cost of other bounds.

    Only the last minutes of the trace are simulated. The policy of the pipeline file has the options given there, the
    others have their defaults, see below.

    Example: `mead plan examples/log-analysis.yaml --trace arrivals.parquet --policy map --policy mg1`
    """
    from mead.policies import policy_names
    from mead.reports.what_if.what_if import what_if
    from mead.reports.what_if.what_if_report import as_json as document
    from mead.reports.what_if.what_if_report import what_if_tables
    from mead.workload import TraceError

    file = read_pipeline_or_fail(ctx, pipeline)
    names = dict.fromkeys(policy or (*policy_names(), file.policy.name))
    options = [policy_or_fail(ctx, pipeline, file, name, named=bool(policy), trust=trust) for name in names]
    arrivals = read_trace_or_fail(ctx, trace, iat=iat, column=column, unit=unit, sort=sort)
    try:
        arrivals.rate_per_s  # noqa: B018 - nothing can be planned without one
    except TraceError as error:
        ctx.fail(f"{trace}: {error}")
    done = count()
    with progress_bar(len(options) + 1) as show:
        answer = what_if(
            file.knowledge, arrivals, options, seed=seed, progress=lambda name: show(f"Asking {name}", next(done))
        )
    if as_json:
        print_json(document(answer))
        return

    from rich.console import Console

    console = Console()
    for part in what_if_tables(answer):
        console.print(part)
        console.print()
