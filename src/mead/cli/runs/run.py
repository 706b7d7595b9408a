"""``mead run``: a pipeline on Spark under the control loop."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from mead.cli.inputs import PipelinePath, PolicyName, PolicyOption, policy_or_fail, read_pipeline_or_fail
from mead.cli.runs.live import ProfilePart
from mead.cli.runs.report import REPORT
from mead.cli.runs.serve import DEFAULT_HOST, DEFAULT_PORT, Host, KnownAs, PageOptions, Port
from mead.cli.terminal import AsJson, print_json


def run(
    ctx: typer.Context,
    pipeline: PipelinePath,
    *,
    policy: PolicyName = None,
    option: PolicyOption = None,
    mode: Annotated[
        Literal["observe", "advise", "act"],
        typer.Option(help="Only look, say what would be done, or do it. The first day is for observe and advise."),
    ] = "act",
    duration: Annotated[
        float | None, typer.Option(min=1.0, metavar="SECONDS", help="End after this; default until Ctrl-C.")
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Checkpoints, streams, results, history and report; a run that was killed goes on here.",
        ),
    ] = None,
    master: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Where Spark runs.  [default: all cores of this machine]", show_default=False),
    ] = None,
    without: Annotated[
        list[ProfilePart] | None,
        typer.Option(
            metavar="PART",
            help="Leave a part of the fast micro-batch profile out: quiet_commits, unix_sockets, plain_planning, "
            "quick_compiler, simple_collector, compiled_pyspark, or all of these; may be repeated.",
            show_default=False,
        ),
    ] = None,
    serve: Annotated[
        bool, typer.Option("--serve", help="Show the run in the browser while it runs, and metrics.")
    ] = False,
    host: Host = DEFAULT_HOST,
    port: Port = DEFAULT_PORT,
    known_as: KnownAs = None,
    as_json: AsJson = False,
) -> None:
    """Run a pipeline on Spark and keep its response times within what is required.

    Ctrl-C, SIGTERM, or the end of the terminal, ends it in good order: what has arrived goes through, and no process
    and no control group stays behind. Who asks a second time does not want to wait for what has arrived. There is a
    report in any case.

    Example: `mead run my-pipeline.yaml --mode advise --duration 600`
    """
    from mead.cli.runs.live import LOST, LiveOptions, new_folder, print_report, run_file, write_report
    from mead.loop import Mode
    from mead.spark.pipeline.end_requests import EndRequests

    file = read_pipeline_or_fail(ctx, pipeline)
    options = policy_or_fail(ctx, file, pipeline.parent, policy, option or ())
    folder = folder or new_folder(file.pipeline.name)
    watched = PageOptions(host, port, known_as=tuple(known_as or ())) if serve else None
    live = LiveOptions(
        options, Mode(mode), duration, folder, master, quiet=as_json, page=watched, left_out=tuple(without or ())
    )
    with EndRequests() as requests:
        report = run_file(ctx, file, pipeline.parent, live, requests)
        about = f"Run of {pipeline.name}, policy {options.name}, mode {mode}."
        figures = write_report(folder, [about, *report.notes])
    savings = None if figures is None else figures.savings
    if as_json:
        found = {"savings": None if savings is None else savings.as_json()}
        print_json(report.as_json() | found | {"folder": str(folder), "report": str(folder / REPORT)})
    else:
        print_report(report, folder, [] if savings is None else [str(savings)])
    if report.result.loss:
        raise typer.Exit(LOST)
