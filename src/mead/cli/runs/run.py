"""``mead run``: a pipeline on Spark under the control loop."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from mead.cli.inputs import PipelinePath, PolicyName, PolicyOption, policy_or_fail, read_pipeline_or_fail
from mead.cli.runs.serve import DEFAULT_HOST, DEFAULT_PORT, Host, KnownAs, PageOptions, Port, TokenFile
from mead.cli.runs.spark_run import ProfilePart, end_run, failures, print_report, profile_without
from mead.cli.terminal import AsJson, print_json


def run(
    ctx: typer.Context,
    pipeline: PipelinePath,
    *,
    policy: PolicyName = None,
    option: PolicyOption = None,
    mode: Annotated[
        Literal["observe", "advise", "act"],
        typer.Option(help="observe: only measure; advise: also plan; act: also apply. Begin with observe or advise."),
    ] = "act",
    duration: Annotated[
        float | None, typer.Option(min=1.0, metavar="SECONDS", help="Duration of the run; default until Ctrl-C.")
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Folder for checkpoints, streams, results, history and report; a killed run continues in its folder.",
        ),
    ] = None,
    start_over: Annotated[
        bool,
        typer.Option(
            "--start-over",
            help="Begin again in a folder that has a run: move its arrivals, streams, checkpoints and results into "
            "FOLDER/earlier.",
        ),
    ] = False,
    master: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Spark master.  [default: all cores of this machine]", show_default=False),
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
        bool, typer.Option("--serve", help="Serve a live page and metrics while the run goes on.")
    ] = False,
    host: Host = DEFAULT_HOST,
    port: Port = DEFAULT_PORT,
    known_as: KnownAs = None,
    token_file: TokenFile = None,
    as_json: AsJson = False,
) -> None:
    """Run a pipeline on Spark and keep its response times within their bounds.

    Ctrl-C, SIGTERM or the end of the terminal ends the run in good order: tuples that have arrived go through, and no
    process and no control group stays behind. Press Ctrl-C again to stop without draining. A report is always written.

    The exit code is 1 if the run did not work, with the reason on standard error, and 2 if it was refused.

    A pipeline file names code, which this command runs with your rights. Read a file of others, and the modules beside
    it, before you run it.

    Example: `mead run my-pipeline.yaml --mode advise --duration 600`
    """
    from mead.api import run as run_pipeline
    from mead.cli.runs.display import Display

    file = read_pipeline_or_fail(ctx, pipeline)
    options = policy_or_fail(ctx, pipeline, file, policy, option or (), named=policy is not None, trust=True)
    page = PageOptions(host, port, known_as=tuple(known_as or ()), token_file=token_file) if serve else None
    with failures(ctx, folder or Path("runs")):
        report = run_pipeline(
            pipeline,
            policy=options,
            mode=mode,
            duration_s=duration,
            folder=folder,
            master=master,
            profile=profile_without(without or ()),
            start_over=start_over,
            observers=[Display(quiet=as_json, page=page)],
        )
    if as_json:
        print_json(report.as_json())
    else:
        print_report(report, [] if report.savings is None else [str(report.savings)])
    end_run(ctx, report)
