"""``mead run``: a pipeline on Spark under the control loop."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from mead.cli.inputs import PipelinePath, PolicyName, PolicyOption, read_pipeline_or_fail
from mead.cli.serve import DEFAULT_HOST, DEFAULT_PORT, Host, KnownAs, PageOptions, Port
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
    serve: Annotated[
        bool, typer.Option("--serve", help="Show the run in the browser while it runs, and metrics.")
    ] = False,
    host: Host = DEFAULT_HOST,
    port: Port = DEFAULT_PORT,
    known_as: KnownAs = None,
    as_json: AsJson = False,
) -> None:
    """Run a pipeline on Spark and keep its response times within what is required.

    Ctrl-C ends it in good order: what has arrived goes through, and no process and no control group stays behind.

    Example: `mead run my-pipeline.yaml --mode advise --duration 600`
    """
    from mead.cli.live import LiveOptions, new_folder, print_report, run_file, write_report
    from mead.config.keys import ConfigError
    from mead.config.policy_choice import chosen_policy
    from mead.loop import Mode

    file = read_pipeline_or_fail(ctx, pipeline)
    try:
        options = chosen_policy(file.policy, policy, option or [])
    except ConfigError as error:
        ctx.fail(str(error))
    folder = folder or new_folder(file.pipeline.name)
    watched = PageOptions(host, port, known_as=tuple(known_as or ())) if serve else None
    report = run_file(
        ctx,
        file,
        pipeline.parent,
        LiveOptions(options, Mode(mode), duration, folder, master, quiet=as_json, page=watched),
    )
    page = write_report(report, folder, [f"Run of {pipeline.name}, policy {options.name}, mode {mode}."])
    if as_json:
        print_json(report.as_json() | {"folder": str(folder), "report": str(page)})
        return
    print_report(report, folder, page, [])
