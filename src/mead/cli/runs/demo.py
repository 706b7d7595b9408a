"""``mead demo``: the main job, from bursty arrivals to a report, with nothing to prepare."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mead.cli.runs.report import REPORT
from mead.cli.runs.serve import DEFAULT_PORT, PageOptions, Port
from mead.cli.terminal import AsJson, print_json
from mead.extras import require

DURATION_S = 150.0

DEMAND_S = 0.0015
"""CPU time per tuple of the matcher, as in the MEAD paper."""


def demo(
    ctx: typer.Context,
    *,
    duration: Annotated[float, typer.Option(min=10.0, metavar="SECONDS", help="How long arrivals come.")] = DURATION_S,
    policy: Annotated[str, typer.Option(metavar="NAME", help="Who decides; see `mead run --help`.")] = "adaptive",
    folder: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Where everything is kept; default a new one in runs/.")
    ] = None,
    serve: Annotated[
        bool, typer.Option("--serve/--no-serve", help="Show the run in the browser; the address is printed.")
    ] = True,
    port: Port = DEFAULT_PORT,
    as_json: AsJson = False,
) -> None:
    """Analyze log lines that come in bursts, on local Spark, auto-scaled live: a few minutes, nothing to prepare.

    Three operators parse lines, count them, and search them for hundreds of patterns. The path to the matches must
    answer within 1 s in the mean. Watch how the share of each operator follows the load, and what is saved.
    """
    from mead.cli.runs.live import LOST, LiveOptions, new_folder, print_report, refuse_used, run_file, write_report
    from mead.config.pipeline_file import read_pipeline
    from mead.config.policy_choice import choose_policy
    from mead.demo import pipeline_path
    from mead.demo.calibration import calibrate
    from mead.keys import ConfigError
    from mead.loop import Mode
    from mead.reports.what_if.twin import FullShare
    from mead.spark.pipeline.build import ARRIVALS
    from mead.spark.pipeline.end_requests import EndRequests

    if serve:
        require("web", "the live page (omitted with --no-serve)")
    folder = folder or new_folder("demo")
    refuse_used(ctx, folder)
    measured = calibrate()
    shipped = pipeline_path()
    file = read_pipeline(shipped).with_options("matcher", {"tried": measured.tried(DEMAND_S)})
    try:
        options = choose_policy(file.policy, policy, [])
    except ConfigError as error:
        ctx.fail(str(error))
    watched = PageOptions(port=port, or_any=True) if serve else None
    live = LiveOptions(options, Mode.ACT, duration, folder, quiet=as_json, page=watched)
    with EndRequests() as requests:
        report = run_file(ctx, file, shipped.parent, live, requests)
        # Of a run that was ended at once there is nothing to replay.
        full = FullShare.of(report, folder / ARRIVALS) if report.result.tuples > 1 else None
        notes = [] if full is None else [str(full)]
        write_report(folder, [*notes, *report.notes])
    if as_json:
        where = {"folder": str(folder), "report": str(folder / REPORT)}
        print_json(report.as_json() | {"full_share": None if full is None else full.as_json()} | where)
    else:
        print_report(report, folder, notes)
    if report.result.loss:
        raise typer.Exit(LOST)
