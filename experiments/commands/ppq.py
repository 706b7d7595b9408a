"""Commands ``ppq-...``: the experiments of the Elastic-PPQ paper (Mencagli, Torquati and Danelutto 2018)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from experiments.commands.options import Seeds, show_entries
from mead.cli.inputs import check_java
from mead.cli.terminal import AsJson, Seed, collect

Duration = Annotated[float, typer.Option(min=10.0, metavar="SECONDS", help="Length of every stream.")]
Profile = Annotated[
    Literal["code", "paper"],
    typer.Option(help="Rules of the fuzzy controller: of the authors' code, or of their paper."),
]


def fit(
    ctx: typer.Context,
    *,
    query: Annotated[
        str, typer.Option(metavar="NAME", help="`skyline`: cost of a comparison; `top-delta`: its additional weight.")
    ] = "skyline",
    seeds: Seeds = 3,
    seed: Seed = 1,
    duration: Annotated[
        float | None,
        typer.Option(min=10.0, metavar="SECONDS", help="Length of every stream; default as published, 127 to 391 s."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Fit the constants of Elastic-PPQ's virtual time to the numbers that its authors published.

    Example: `python -m experiments ppq-fit --seeds 1 --duration 20`
    """
    from experiments.ppq.calibration import (
        FITTED_STREAMS,
        FITTED_WORKERS,
        LOGGED_S,
        even_parts,
        even_points,
        weight_parts,
        weight_points,
    )
    from experiments.ppq.streams import STREAMS
    from experiments.ppq.tables import COSTS

    if query not in COSTS:
        ctx.fail(f"--query {query}: write one of {', '.join(COSTS)}")
    chosen = range(seed, seed + seeds)
    if query == "skyline":
        points = even_points(chosen, duration or LOGGED_S)
        by_workers = collect(points, len(FITTED_WORKERS), lambda point: f"{point.workers} workers")
        show_entries("ppq-fit", "points", by_workers, even_parts(by_workers), as_json=as_json)
        return
    streams = [stream for stream in STREAMS if stream.name in FITTED_STREAMS]
    by_stream = collect(weight_points(streams, chosen, duration), len(streams), lambda point: point.stream)
    show_entries("ppq-fit", "points", by_stream, weight_parts(by_stream), as_json=as_json)


def fig9(*, seeds: Seeds = 4, seed: Seed = 1, profile: Profile = "code", as_json: AsJson = False) -> None:
    """Fig. 9 of the Elastic-PPQ paper: pane workers under a rate that jumps every 30 s.

    Example: `python -m experiments ppq-fig9 --seeds 2`
    """
    from experiments.ppq.fig9 import fig9_parts, run
    from mead.preference.control.fuzzy import PROFILES

    done = [run(one, profile=PROFILES[profile]) for one in range(seed, seed + seeds)]
    show_entries("ppq-fig9", "runs", done, fig9_parts(done), as_json=as_json)


def fig10(
    *,
    seeds: Seeds = 3,
    seed: Seed = 1,
    duration: Duration = 125.0,
    profile: Profile = "code",
    as_json: AsJson = False,
) -> None:
    """Fig. 10 of the Elastic-PPQ paper: elasticity alone against both levels, on bursty streams.

    Example: `python -m experiments ppq-fig10 --seeds 1`
    """
    from experiments.ppq.fig10 import STREAMS, fig10_parts, runs
    from mead.preference.control.fuzzy import PROFILES

    found = runs(range(seed, seed + seeds), duration, PROFILES[profile])
    done = collect(found, 2 * len(STREAMS) * seeds, lambda one: one.stream)
    show_entries("ppq-fig10", "runs", done, fig10_parts(done), as_json=as_json)


def fig11(
    ctx: typer.Context,
    *,
    workers: Annotated[
        list[int] | None,
        typer.Option(metavar="N", help="Only this number of workers; may be repeated."),
    ] = None,
    seed: Seed = 1,
    duration: Duration = 80.0,
    as_json: AsJson = False,
) -> None:
    """Fig. 11 of the Elastic-PPQ paper: splitting evenly, and by the PID, with a fixed number of workers.

    Example: `python -m experiments ppq-fig11 --workers 1 --workers 8 --workers 12`
    """
    from experiments.ppq.fig11 import EVEN, fig11_parts, points

    chosen = sorted(workers) if workers else [count for count in EVEN if count <= 12]
    for count in chosen:
        if count not in EVEN:
            ctx.fail(f"--workers {count}: the authors' logs have {', '.join(map(str, EVEN))}")
    done = collect(points(seed, duration, chosen), len(chosen), lambda one: f"{one.workers} workers")
    show_entries("ppq-fig11", "points", done, fig11_parts(done), as_json=as_json)


def fig12(
    ctx: typer.Context,
    *,
    window: Annotated[
        int, typer.Option(min=200, metavar="MILLISECONDS", help="Length of a window, a multiple of 200.")
    ] = 600,
    seeds: Seeds = 2,
    seed: Seed = 1,
    duration: Duration = 333.0,
    profile: Profile = "code",
    as_json: AsJson = False,
) -> None:
    """Figs. 12 and 13 of the Elastic-PPQ paper: the window stage with and without MERGE tasks.

    Example: `python -m experiments ppq-fig12 --window 1000`
    """
    from experiments.ppq.fig12 import SLIDE_MS, fig12_parts, runs
    from mead.preference.control.fuzzy import PROFILES

    if window % SLIDE_MS:
        ctx.fail(f"--window {window}: must be a multiple of the slide, {SLIDE_MS} ms")
    found = runs(range(seed, seed + seeds), duration, window, PROFILES[profile])
    done = collect(found, 2 * seeds, lambda one: f"seed {one.seed}")
    show_entries("ppq-fig12", "runs", done, fig12_parts(done), as_json=as_json)


def tables(
    ctx: typer.Context,
    *,
    only: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Run only this stream; may be repeated.")
    ] = None,
    query: Annotated[
        str | None, typer.Option(metavar="NAME", help="`skyline` (Table 4) or `top-delta` (Table 5); default both.")
    ] = None,
    counts: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            exists=True,
            dir_okay=False,
            help="Replay a file of the authors' counts per second, with one --only: `Rates/arrivals_*.txt`.",
        ),
    ] = None,
    set_point: Annotated[
        float | None, typer.Option(min=0.1, max=2.0, metavar="RHO", help="Set-point of the PID; default 0.7.")
    ] = None,
    static: Annotated[
        bool,
        typer.Option("--static/--no-static", help="Search for the best static choice, which takes about ten runs."),
    ] = True,
    seed: Seed = 1,
    duration: Annotated[
        float | None,
        typer.Option(min=10.0, metavar="SECONDS", help="Length of every stream; default as published, 330 to 423 s."),
    ] = None,
    profile: Profile = "code",
    as_json: AsJson = False,
) -> None:
    """Tables 4 and 5 of the Elastic-PPQ paper: both queries on all streams, beside the best static choice.

    Streams: rw, map1k to map4k, ss6 to ss8, game1 (a stand-in).

    Example: `python -m experiments ppq-tables --only map1k --only game1 --duration 60`
    """
    from experiments.ppq.streams import STREAMS, replayed
    from experiments.ppq.tables import COSTS, row, tables_parts
    from mead.preference.control.fuzzy import PROFILES

    names = [stream.name for stream in STREAMS]
    for name in only or ():
        if name not in names:
            ctx.fail(f"--only {name}: there is no such stream; there are {', '.join(names)}")
    if query is not None and query not in COSTS:
        ctx.fail(f"--query {query}: write one of {', '.join(COSTS)}")
    chosen = [stream for stream in STREAMS if not only or stream.name in only]
    if counts is not None:
        if len(chosen) != 1:
            ctx.fail("--counts: the counts are of one stream; name it with --only")
        try:
            chosen = [replayed(chosen[0], counts)]
        except (ValueError, IndexError):
            ctx.fail(f"--counts {counts}: not two columns of numbers: second and tuples")
    queries = [name for name in COSTS if query in {None, name}]
    rows = (
        row(
            name,
            stream,
            seed,
            duration or stream.published_s,
            static=static,
            profile=PROFILES[profile],
            set_point=set_point,
        )
        for name in queries
        for stream in chosen
    )
    done = collect(rows, len(chosen) * len(queries), lambda one: f"{one.query} {one.stream}")
    show_entries("ppq-tables", "rows", done, tables_parts(done, chosen), as_json=as_json)


def fig17(
    *,
    seeds: Seeds = 3,
    seed: Seed = 1,
    duration: Duration = 421.0,
    profile: Profile = "code",
    as_json: AsJson = False,
) -> None:
    """Fig. 17 of the Elastic-PPQ paper: lengths of the controller's interval and the PID's period.

    Example: `python -m experiments ppq-fig17 --seeds 1 --duration 100`
    """
    from experiments.ppq.fig17 import CONTROL_S, PID_S, fig17_parts, runs
    from mead.preference.control.fuzzy import PROFILES

    found = runs(range(seed, seed + seeds), duration, PROFILES[profile])
    done = collect(found, len(CONTROL_S) * len(PID_S) * seeds, lambda one: f"{one.control_s:g} s")
    show_entries("ppq-fig17", "runs", done, fig17_parts(done), as_json=as_json)


def fig3(*, seed: Seed = 1, duration: Duration = 1000.0, as_json: AsJson = False) -> None:
    """Fig. 3 of the Elastic-PPQ paper: burstiness of three kinds of arrivals, by time scale.

    Example: `python -m experiments ppq-fig3 --duration 100`
    """
    from experiments.ppq.fig3 import LOGGED, fig3_parts, rows

    done = collect(rows(seed, duration), len(LOGGED), lambda one: one.kind)
    show_entries("ppq-fig3", "rows", done, fig3_parts(done), as_json=as_json)


def fig14(*, seed: Seed = 1, duration: Duration = 421.0, profile: Profile = "code", as_json: AsJson = False) -> None:
    """Figs. 14 and 15 of the Elastic-PPQ paper: Game1 (a stand-in) in detail, beside fixed workers.

    Example: `python -m experiments ppq-fig14 --duration 100`
    """
    from experiments.ppq.fig14 import fig14_parts, runs
    from mead.preference.control.fuzzy import PROFILES

    done = collect(runs(seed, duration, PROFILES[profile]), 2, lambda one: "two levels" if one.elastic else "fixed")
    show_entries("ppq-fig14", "runs", done, fig14_parts(done), as_json=as_json)


def fig18(*, seed: Seed = 1, duration: Duration = 421.0, profile: Profile = "code", as_json: AsJson = False) -> None:
    """Fig. 18 of the Elastic-PPQ paper: other programs use part of the machine.

    Example: `python -m experiments ppq-fig18 --duration 100`
    """
    from experiments.ppq.fig18 import INTENSITIES, fig18_parts, runs
    from mead.preference.control.fuzzy import PROFILES

    found = runs(seed, duration, PROFILES[profile])
    done = collect(found, len(INTENSITIES), lambda one: f"intensity {one.intensity:g}")
    show_entries("ppq-fig18", "runs", done, fig18_parts(done), as_json=as_json)


def live(
    ctx: typer.Context,
    *,
    control: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="`elasticity`, `splitting`, `both`, or `both-wide`, which starts with as many tasks as splitting; may "
            "be repeated; default all.",
        ),
    ] = None,
    rate: Annotated[
        float,
        typer.Option(
            min=1.0, metavar="PER_S", help="Mean rate of the stream; in bursts it is more than one task can serve."
        ),
    ] = 20000.0,
    idc: Annotated[
        float, typer.Option(min=1.1, metavar="I", help="Index of dispersion of its arrivals: how long bursts last.")
    ] = 25000.0,
    duration: Duration = 60.0,
    seed: Seed = 1,
    as_json: AsJson = False,
) -> None:
    """Elasticity alone, splitting alone and both, live on Spark, with every answer checked.

    Runs the top-100 query with the nested loop of the paper on bursts of generated points. The expected answers are
    computed beforehand in another way, which takes about a second each.

    Example: `python -m experiments ppq-live --control both --duration 20`
    """
    from tempfile import TemporaryDirectory

    from experiments.ppq.live import CONTROLS, bursty_points, live_parts, runs
    from mead.spark.runtime.quiet_start import SparkStartError, start_quietly
    from mead.spark.runtime.spark_session import start_session

    names = [one.name for one in CONTROLS]
    for name in control or ():
        if name not in names:
            ctx.fail(f"--control {name}: write one of {', '.join(names)}")
    check_java(ctx)
    try:
        with start_quietly():
            spark = start_session("experiments ppq-live")
    except SparkStartError as error:
        ctx.fail(str(error))
    chosen = [one for one in CONTROLS if not control or one.name in control]
    points = bursty_points(rate, idc, duration, seed)
    try:
        with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            done = collect(runs(spark, points, chosen, Path(folder)), len(chosen), lambda one: one.control)
    finally:
        spark.stop()
    show_entries("ppq-live", "runs", done, live_parts(done), as_json=as_json)


def add_to(app: typer.Typer) -> None:
    """Add the experiments of the Elastic-PPQ paper."""
    for command in (fit, fig3, fig9, fig10, fig11, fig12, fig14, tables, fig17, fig18, live):
        app.command(f"ppq-{command.__name__}")(command)
