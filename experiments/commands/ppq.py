"""Commands ``ppq-...``: the experiments of the Elastic-PPQ paper (Mencagli, Torquati and Danelutto 2018)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

import typer

from experiments.commands.options import Seeds
from mead.cli.inputs import check_java
from mead.cli.terminal import AsJson, Seed, print_found, progress_bar

Duration = Annotated[float, typer.Option(min=10.0, metavar="SECONDS", help="Length of every stream.")]
Profile = Annotated[
    Literal["code", "paper"],
    typer.Option(help="Of the fuzzy controller: as the authors have released it, or as their paper has it."),
]


def fit(
    ctx: typer.Context,
    *,
    query: Annotated[
        str, typer.Option(metavar="NAME", help="`skyline`: what a comparison costs; `top-delta`: how much more there.")
    ] = "skyline",
    seeds: Seeds = 3,
    seed: Seed = 1,
    duration: Annotated[
        float | None,
        typer.Option(min=10.0, metavar="SECONDS", help="Length of every stream; default as published, 127 to 391 s."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Where the constants of Elastic-PPQ's virtual time come from: runs held against what its authors published.

    Example: `python -m experiments ppq-fit --seeds 1 --duration 20`
    """
    from experiments.ppq.calibration import (
        FITTED_STREAMS,
        FITTED_WORKERS,
        LOGGED_S,
        EvenPoint,
        WeightPoint,
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
        by_workers: list[EvenPoint] = []
        with progress_bar(len(FITTED_WORKERS)) as show:
            for even in even_points(chosen, duration or LOGGED_S):
                by_workers.append(even)
                show(f"{even.workers} workers", len(by_workers))
        print_found("ppq-fit", "points", by_workers, even_parts(by_workers), as_json=as_json)
        return
    streams = [stream for stream in STREAMS if stream.name in FITTED_STREAMS]
    by_stream: list[WeightPoint] = []
    with progress_bar(len(streams)) as show:
        for one in weight_points(streams, chosen, duration):
            by_stream.append(one)
            show(one.stream, len(by_stream))
    print_found("ppq-fit", "points", by_stream, weight_parts(by_stream), as_json=as_json)


def fig9(*, seeds: Seeds = 4, seed: Seed = 1, profile: Profile = "code", as_json: AsJson = False) -> None:
    """Fig. 9 of the Elastic-PPQ paper: pane workers under a rate that jumps every 30 s.

    Example: `python -m experiments ppq-fig9 --seeds 2`
    """
    from experiments.ppq.fig9 import fig9_parts, run
    from mead.preference.control.fuzzy import PROFILES

    done = [run(one, profile=PROFILES[profile]) for one in range(seed, seed + seeds)]
    print_found("ppq-fig9", "runs", done, fig9_parts(done), as_json=as_json)


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

    done = []
    with progress_bar(2 * len(STREAMS) * seeds) as show:
        for one in runs(range(seed, seed + seeds), duration, PROFILES[profile]):
            done.append(one)
            show(one.stream, len(done))
    print_found("ppq-fig10", "runs", done, fig10_parts(done), as_json=as_json)


def fig11(
    ctx: typer.Context,
    *,
    workers: Annotated[
        list[int] | None, typer.Option(metavar="N", help="In place of all that the logs have; may be repeated.")
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
    done = []
    with progress_bar(len(chosen)) as show:
        for one in points(seed, duration, chosen):
            done.append(one)
            show(f"{one.workers} workers", len(done))
    print_found("ppq-fig11", "points", done, fig11_parts(done), as_json=as_json)


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
    done = []
    with progress_bar(2 * seeds) as show:
        for one in runs(range(seed, seed + seeds), duration, window, PROFILES[profile]):
            done.append(one)
            show(f"seed {one.seed}", len(done))
    print_found("ppq-fig12", "runs", done, fig12_parts(done), as_json=as_json)


def tables(
    ctx: typer.Context,
    *,
    only: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Of all streams, run this one; may be repeated.")
    ] = None,
    query: Annotated[
        str | None, typer.Option(metavar="NAME", help="`skyline` (Table 4) or `top-delta` (Table 5); default both.")
    ] = None,
    static: Annotated[
        bool,
        typer.Option("--static/--no-static", help="Search for the best static choice; takes some ten runs for each."),
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
    from experiments.ppq.streams import STREAMS
    from experiments.ppq.tables import COSTS, Row, row, tables_parts
    from mead.preference.control.fuzzy import PROFILES

    names = [stream.name for stream in STREAMS]
    for name in only or ():
        if name not in names:
            ctx.fail(f"--only {name}: there is no such stream; there are {', '.join(names)}")
    if query is not None and query not in COSTS:
        ctx.fail(f"--query {query}: write one of {', '.join(COSTS)}")
    chosen = [stream for stream in STREAMS if not only or stream.name in only]
    queries = [name for name in COSTS if query in {None, name}]
    done: list[Row] = []
    with progress_bar(len(chosen) * len(queries)) as show:
        for name in queries:
            for stream in chosen:
                show(f"{name} {stream.name}", len(done))
                length_s = duration or stream.published_s
                done.append(row(name, stream, seed, length_s, static=static, profile=PROFILES[profile]))
    print_found("ppq-tables", "rows", done, tables_parts(done, chosen), as_json=as_json)


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

    done = []
    with progress_bar(len(CONTROL_S) * len(PID_S) * seeds) as show:
        for one in runs(range(seed, seed + seeds), duration, PROFILES[profile]):
            done.append(one)
            show(f"{one.control_s:g} s", len(done))
    print_found("ppq-fig17", "runs", done, fig17_parts(done), as_json=as_json)


def fig18(*, seed: Seed = 1, duration: Duration = 421.0, profile: Profile = "code", as_json: AsJson = False) -> None:
    """Fig. 18 of the Elastic-PPQ paper: other programs take a part of the machine.

    Example: `python -m experiments ppq-fig18 --duration 100`
    """
    from experiments.ppq.fig18 import INTENSITIES, fig18_parts, runs
    from mead.preference.control.fuzzy import PROFILES

    done = []
    with progress_bar(len(INTENSITIES)) as show:
        for one in runs(seed, duration, PROFILES[profile]):
            done.append(one)
            show(f"intensity {one.intensity:g}", len(done))
    print_found("ppq-fig18", "runs", done, fig18_parts(done), as_json=as_json)


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
    """Elasticity alone, splitting alone and both on Spark itself, in real time, every answer checked.

    The top-100 query with the nested loop of the paper, on generated points that come in bursts. All answers are found
    beforehand in another way, which takes about a second for each.

    Example: `python -m experiments ppq-live --control both --duration 20`
    """
    from pathlib import Path
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
    chosen, done = [one for one in CONTROLS if not control or one.name in control], []
    points = bursty_points(rate, idc, duration, seed)
    try:
        with TemporaryDirectory(ignore_cleanup_errors=True) as folder, progress_bar(len(chosen)) as show:
            for one in runs(spark, points, chosen, Path(folder)):
                done.append(one)
                show(one.control, len(done))
    finally:
        spark.stop()
    print_found("ppq-live", "runs", done, live_parts(done), as_json=as_json)


COMMANDS: dict[str, Callable[..., Any]] = {
    "fit": fit,
    "fig9": fig9,
    "fig10": fig10,
    "fig11": fig11,
    "fig12": fig12,
    "tables": tables,
    "fig17": fig17,
    "fig18": fig18,
    "live": live,
}


def add_to(app: typer.Typer) -> None:
    """Add all experiments of Elastic-PPQ, under their names."""
    for name, command in COMMANDS.items():
        app.command(f"ppq-{name}")(command)
