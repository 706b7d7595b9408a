"""Commands ``pasps-...``: the experiments of the PA-SPS paper (Wladdimiro et al. 2024)."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Annotated

import typer

from experiments.commands.options import make_folder, show
from mead.cli.terminal import AsJson, Seed, progress_bar

Seeds = Annotated[int, typer.Option(min=1, metavar="N", help="Average over this many seeds.")]
Systems = Annotated[
    list[str] | None,
    typer.Option(
        "--system",
        metavar="NAME[@KEY=VALUE]",
        help="Run only this row, such as `pasps@predictor=lr`, `psps`, `dabs@downtime_s=60`, `static@replicas=4`; may "
        "be repeated. The paper's claims are checked when all rows are run.",
    ),
]
Duration = Annotated[
    int, typer.Option(min=60, metavar="SECONDS", help="Length of every run, from the start of its stream.")
]
LogRates = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Rates of the log scenario, CSV with a column `value`, one row per second; default generated ones.",
    ),
]
Plot = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Draw replicas and throughput over time there, as in Figs. 9, 10, 13 and 15."),
]

SUMMARIES = {
    "pasps-models": "Table 2 of the PA-SPS paper: five predictive models, and ours, on slow hills of arrivals.",
    "pasps-storm": "Table 3 of the PA-SPS paper: one, four and eight replicas of every operator, all the time.",
    "pasps-peers": "Table 4 of the PA-SPS paper: PSPS, and a system that restarts for every change.",
    "pasps-complex": "Table 5 of the PA-SPS paper: eight operators that split and join.",
    "pasps-datasets": "Tables 6 to 8 of the PA-SPS paper: noisy arrivals, DNS spikes and system logs.",
}


def add_to(app: typer.Typer) -> None:
    """Add one command for each experiment; they differ only in the tables that they hold."""
    for name, summary in SUMMARIES.items():
        _add(app, name, summary)
    app.command("pasps-live")(live)


def live(
    ctx: typer.Context,
    *,
    application: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="`tweets`, `dns`, `logs` or `news`; may be repeated; default the first two."),
    ] = None,
    system: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME[@KEY=VALUE]", help="Run only this system, such as `psps`; may be repeated."),
    ] = None,
    duration: Annotated[float, typer.Option(min=10.0, metavar="SECONDS", help="Of every run.")] = 90.0,
    seed: Seed = 1,
    as_json: AsJson = False,
) -> None:
    """PA-SPS on real Spark, in real time: its applications under static replicas, DABS and PA-SPS.

    Every run takes its duration and about half a minute. DABS does not restart anything here, because Spark changes the
    number of tasks without; what is left of it are its forecast and its pause before replicas are removed.

    Example: `python -m experiments pasps-live --application dns --system pasps --system dabs`
    """
    from tempfile import TemporaryDirectory

    from experiments.comparison import PolicyContender
    from experiments.pasps.live import APPLICATIONS, EXAMPLES, SLOTS, SYSTEMS, LiveRuns, live_systems_table
    from mead.cli.inputs import check_java
    from mead.cpu import detect, measure_actuation_delay_s
    from mead.spark.runtime.quiet_start import SparkStartError, start_quietly
    from mead.spark.runtime.spark_session import start_session, stop_session

    applications, systems = (
        list(dict.fromkeys(application or ("tweets", "dns"))),
        list(dict.fromkeys(system or SYSTEMS)),
    )
    if unknown := set(applications) - set(APPLICATIONS):
        ctx.fail(f"there is no application {min(unknown)!r}; choose from {', '.join(APPLICATIONS)}")
    try:
        for one in systems:
            PolicyContender.of(one)
    except ValueError as error:
        ctx.fail(str(error))
    check_java(ctx)
    found = detect()
    if found.kind == "none":
        ctx.fail(f"CPU shares cannot be set here: {found}")
    try:
        with start_quietly():
            spark = start_session("experiments pasps-live", master=f"local[{SLOTS}]", modules=EXAMPLES)
    except SparkStartError as error:
        ctx.fail(str(error))
    runs = [(name, one) for name in applications for one in systems]
    rows = []
    try:
        with TemporaryDirectory() as folder, progress_bar(len(runs)) as tell:
            settings = LiveRuns(spark, found.open, duration, Path(folder), measure_actuation_delay_s(found.open), seed)
            for done, (name, one) in enumerate(runs):
                tell(f"{name}, {one}", done)
                rows.append(settings.run(name, one))
    except KeyboardInterrupt:
        typer.echo(
            f"{ctx.command_path}: interrupted, {len(runs) - len(rows)} of {len(runs)} runs are missing", err=True
        )
    finally:
        stop_session(spark)
    document = {"experiment": "pasps-live", "duration_s": duration, "rows": [row.as_json() for row in rows]}
    show(document, [live_systems_table(rows, duration)], [], as_json=as_json)


def _add(app: typer.Typer, name: str, summary: str) -> None:
    def command(
        ctx: typer.Context,
        *,
        system: Systems = None,
        seeds: Seeds = 1,
        seed: Seed = 1,
        duration: Duration = 1320,
        log_rates: LogRates = None,
        plot: Plot = None,
        as_json: AsJson = False,
    ) -> None:
        from experiments.pasps.report import NOTE, table_parts, table_result
        from experiments.pasps.tables import chosen_tables

        try:
            tables = chosen_tables(name, system or (), log_rates)
        except ValueError as error:
            ctx.fail(str(error))
        make_folder(ctx, plot)
        steps = count()
        with progress_bar(seeds * sum(len(table.systems) for table in tables)) as tell:
            results = [
                table_result(table, range(seed, seed + seeds), duration, lambda what: tell(what, next(steps)))
                for table in tables
            ]
        parts = [part for result in results for part in table_parts(result)]
        written: list[Path] = []
        if plot is not None:
            from experiments.pasps.plot import plot_table

            written = [plot_table(result, plot) for result in results]
        document = {"experiment": name, "tables": [result.as_json() for result in results]}
        show(document, [*parts, NOTE], written, as_json=as_json)

    app.command(name, help=f"{summary}\n\nExample: `python -m experiments {name} --seeds 3`")(command)
