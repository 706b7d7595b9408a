"""``mead demo``: a bursty log-analysis pipeline on local Spark, from arrivals to report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mead.cli.runs.serve import DEFAULT_PORT, PageOptions, Port
from mead.cli.runs.spark_run import end_run, failures, print_report, refuse_used, warn
from mead.cli.terminal import AsJson, print_json
from mead.extras import require

DURATION_S = 150.0

DEMAND_S = 0.0015
"""CPU time per tuple of the matcher, as in the MEAD paper."""


def demo(
    ctx: typer.Context,
    *,
    duration: Annotated[
        float, typer.Option(min=10.0, metavar="SECONDS", help="Duration of the arrivals.")
    ] = DURATION_S,
    policy: Annotated[str, typer.Option(metavar="NAME", help="The policy; see `mead run --help`.")] = "adaptive",
    folder: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Folder of the run; default a new one in runs/.")
    ] = None,
    serve: Annotated[
        bool, typer.Option("--serve/--no-serve", help="Show the run in the browser; the address is printed.")
    ] = True,
    port: Port = DEFAULT_PORT,
    as_json: AsJson = False,
) -> None:
    """Analyze bursty log lines on local Spark, auto-scaled: a few minutes, nothing to prepare.

    Three operators parse lines, count them, and search them for hundreds of patterns. The path to the matches must
    answer within 1 s in the mean. Watch how the share of each operator follows the load, and what is saved.
    """
    from mead.cli.runs.display import Display
    from mead.config import choose_policy, read_pipeline
    from mead.demo import pipeline_path
    from mead.demo.calibration import calibrate
    from mead.keys import ConfigError
    from mead.reports.what_if.twin import FullShare
    from mead.spark.pipeline.build import ARRIVALS
    from mead.spark.pipeline.end_requests import EndRequests
    from mead.spark.pipeline.file_run import FolderReport, RunSettings, new_folder, run_file

    if serve:
        require("web", "the live page (omitted with --no-serve)")
    folder = folder or new_folder("demo")
    refuse_used(ctx, folder)
    shipped = pipeline_path()
    file = read_pipeline(shipped).with_options("matcher", {"tried": calibrate().tried(DEMAND_S)})
    try:
        options = choose_policy(file.policy, policy, [])
    except ConfigError as error:
        ctx.fail(str(error))
    display = Display(quiet=as_json, page=PageOptions(port=port, or_any=True) if serve else None)
    settings = RunSettings(options, folder, duration_s=duration)
    with failures(ctx, folder), EndRequests() as requests:
        run = run_file(file, shipped.parent, settings, observers=[display], requests=requests)
        # A run that was ended at once has nothing to replay.
        full = FullShare.of(run, folder / ARRIVALS) if run.result.tuples > 1 else None
        notes = [] if full is None else [str(full)]
        report = FolderReport.write(run, folder, notes, warn=warn)
    if as_json:
        full_share = None if full is None else full.as_json()
        print_json(run.as_json() | {"full_share": full_share} | report.place_json())
    else:
        print_report(report, notes)
    end_run(ctx, report)
