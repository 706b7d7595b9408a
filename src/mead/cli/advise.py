"""``mead advise``: the size that a streaming query needs, from its event log."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mead.cli.terminal import AsJson, print_json, print_parts, progress_bar

READ = 0.9
"""Part of the progress bar for reading."""


def advise(
    ctx: typer.Context,
    event_log: Annotated[
        Path,
        typer.Argument(
            metavar="EVENT-LOG",
            help="Event log of a Spark application: a folder `eventlog_v2_...`, a file, or a folder with one of them.",
        ),
    ],
    *,
    requirement: Annotated[
        str, typer.Option(metavar="BOUND", help="Bound on the response time, such as `p95 <= 2 s` or `mean <= 500 ms`.")
    ],
    price_per_core_hour: Annotated[
        float | None, typer.Option(min=0.0, metavar="PRICE", help="Price of a core for an hour, in your currency.")
    ] = None,
    load: Annotated[
        float,
        typer.Option(min=0.001, max=1000.0, metavar="FACTOR", help="Ask about so many times the recorded rows."),
    ] = 1.0,
    as_json: AsJson = False,
) -> None:
    """Advise how many cores or executors a streaming query needs, from the event log that Spark writes.

    Nothing is installed in the application. For every streaming query it shows the arrivals, the response times and
    what they are made of, the response times that other sizes would have, the cheapest size that meets the bound, and
    how sure that is.

    Example: `mead advise eventlog_v2_app-20260102-0001 --requirement "p95 <= 2 s" --price-per-core-hour 0.04`
    """
    from mead.reports.advice.advice import advise as give_advice
    from mead.reports.advice.words import as_json as document
    from mead.reports.advice.words import tables
    from mead.spark.event_log.files import EventLogError
    from mead.spark.event_log.reader import read_event_log
    from mead.values import Requirement

    try:
        Requirement.parse(requirement, "query")  # a mistake is told before a large log is read
        with progress_bar(1.0) as bar:
            log = read_event_log(event_log, lambda part: bar("Reading", READ * part))
            advice = give_advice(
                log.name,
                log.records,
                requirement,
                price=price_per_core_hour,
                load=load,
                progress=lambda name: bar(f"Replaying {name}", READ),
            )
    except (EventLogError, ValueError) as error:
        ctx.fail(str(error))
    if not advice.queries:
        ctx.fail(f"{event_log}: {'; '.join(advice.skipped)}; let the query run longer with the log enabled")
    if as_json:
        print_json(document(advice, log.notes))
        return
    print_parts(tables(advice))
    for note in log.notes:
        typer.echo(f"Note: {note}.")
