"""Command ``live``: compare policies live on Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from experiments.commands.options import Policies, Requirements, make_folder, show
from mead.cli.inputs import check_java, read_trace_or_fail
from mead.cli.terminal import AsJson, progress_bar

if TYPE_CHECKING:
    from experiments.comparison import PolicyContender
    from experiments.workloads import Workload
    from mead.values import Requirement
    from mead.workload import Trace

LIVE_POLICIES = ("static", *(f"{name}@interval_s=15" for name in ("threshold", "mg1", "map", "replay")), "adaptive")
"""A run of minutes is too short for decisions every minute."""

AROUND_A_RUN_S = 30.0
"""Queries start and warm up, and end; until it has been seen how long that takes."""

RUN_S, SEED = 300.0, 1
MOST_TASKS = 16
"""The most tasks of an operator on one machine."""

LIVE_REQUIREMENTS = ("mean=0.5", "mean=0.75", "mean=1.0", "mean=1.5", "p95=2")


def live(
    ctx: typer.Context,
    *,
    trace: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Arrivals, such as the Bellcore trace; default generated ones with bursts."),
    ] = None,
    requirement: Requirements = None,
    policy: Policies = None,
    replicas: Annotated[
        int,
        typer.Option(
            min=1,
            max=MOST_TASKS,
            metavar="N",
            help="Let every operator have up to so many tasks, each at a share of 0.4 at most, under a flash crowd "
            "that one cannot carry; policies that change replicas need two or more.",
        ),
    ] = 1,
    duration: Annotated[
        float | None,
        typer.Option(min=10.0, metavar="SECONDS", help="Of every run; default 300, and 90 with --replicas."),
    ] = None,
    start: Annotated[float, typer.Option(min=0.0, metavar="SECONDS", help="Begin the trace here.")] = 0.0,
    demand: Annotated[
        float, typer.Option(min=1e-6, metavar="SECONDS", help="CPU seconds per tuple at the matcher.")
    ] = 0.0015,
    folder: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Of the runs; default one that is removed at the end.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Policies on real Spark, in real time, on the same arrivals: kept or not, at what cost, how well predicted.

    The log analysis of the MEAD paper, with real log lines. With `--replicas` its operators may have several tasks, for
    policies that change their number. Every run takes its duration and about half a minute. A policy that does not
    look at the requirement runs once for all of them. Ctrl-C shows what is done by then.

    Examples: `python -m experiments live --requirement mean=0.75 --policy static --policy adaptive`,
    `python -m experiments live --replicas 4 --policy static@replicas=1 --policy drs@interval_s=5 --policy hybrid`
    """
    from tempfile import TemporaryDirectory

    from experiments.live.comparison import LiveComparison, runs_of
    from experiments.live.replicas import REPLICA_RUN_S, master_for
    from experiments.live.rows import LiveRow, in_order, live_table, troubles
    from mead.cli.runs.spark_run import refuse_used
    from mead.cpu import detect, measure_actuation_delay_s
    from mead.demo.calibration import calibrate
    from mead.spark.pipeline.run import SparkLostError
    from mead.spark.runtime.quiet_start import SparkStartError, start_quietly
    from mead.spark.runtime.spark_session import start_session, stop_session

    requirements, policies = _chosen(ctx, requirement, policy, replicas)
    if folder is not None:
        refuse_used(ctx, folder)
        make_folder(ctx, folder)
    check_java(ctx)
    found = detect()
    if found.kind == "none":
        ctx.fail(f"CPU shares cannot be set here: {found}")
    duration = duration or (REPLICA_RUN_S if replicas > 1 else RUN_S)
    runs, workload = runs_of(requirements, policies), _workload(ctx, trace, start, duration, demand, replicas)
    try:
        with start_quietly():
            spark = start_session("experiments live", master=master_for(replicas))
    except SparkStartError as error:
        ctx.fail(str(error))
    done: list[list[LiveRow]] = []
    try:
        with TemporaryDirectory() as temporary, _runs_left(len(runs), duration) as tell:
            comparison = LiveComparison(
                spark,
                found.open,
                workload,
                workload.trace(SEED),
                duration,
                calibrate().tried(demand),
                folder or Path(temporary),
                measure_actuation_delay_s(found.open),
            )
            tell("calibrating the matcher", 0)
            coming = comparison.calibrated(demand).rows(runs)
            for run in runs:
                tell(str(run), len(done))
                done.append(next(coming))
    except (KeyboardInterrupt, SparkLostError) as ended:
        why = str(ended) or "interrupted"
        typer.echo(f"{ctx.command_path}: {why}, {len(runs) - len(done)} of {len(runs)} runs are missing", err=True)
    finally:
        stop_session(spark)
    rows = in_order((row for some in done for row in some), requirements, policies)
    document = {
        "experiment": "live",
        "arrivals": workload.title,
        "rows": [row.as_json() for row in rows],
        "runs": len(runs),
        "done": len(done),
    }
    show(document, [live_table(rows, workload.title), *troubles(rows)], [], as_json=as_json)


@contextmanager
def _runs_left(runs: int, duration_s: float) -> Iterator[Callable[[str, int], None]]:
    """Tells what is run, how many runs are left, and about how long they take: a bar in a terminal, lines elsewhere."""
    import sys
    from time import monotonic

    started_s = monotonic()
    with progress_bar(runs) as bar:

        def show(doing: str, done: int) -> None:
            each_s = (monotonic() - started_s) / done if done else duration_s + AROUND_A_RUN_S
            said = f"run {done + 1} of {runs}, about {_spoken(each_s * (runs - done))} left: {doing}"
            if not sys.stderr.isatty():
                typer.echo(said, err=True)
            bar(said, done)

        yield show


def _spoken(seconds: float) -> str:
    """A duration in words, so that people can plan their day by it.

    >>> _spoken(45.0), _spoken(7260.0)
    ('1 min', '2 h 1 min')
    """
    hours, minutes = divmod(ceil(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"


def _chosen(
    ctx: typer.Context, requirement: list[str] | None, policy: list[str] | None, replicas: int
) -> tuple[list[Requirement], list[PolicyContender]]:
    """The requirements and policies that were asked for; refused if they make no sense with this many replicas."""
    from experiments.comparison import PolicyContender
    from experiments.live.replicas import REPLICA_POLICIES, REPLICA_REQUIREMENTS, refusal
    from experiments.workloads import required

    usual = (REPLICA_REQUIREMENTS, REPLICA_POLICIES) if replicas > 1 else (LIVE_REQUIREMENTS, LIVE_POLICIES)
    try:
        requirements = list(dict.fromkeys(required(text) for text in requirement or usual[0]))
        policies = [PolicyContender.of(text) for text in dict.fromkeys(policy or usual[1])]
    except ValueError as error:
        ctx.fail(str(error))
    for one in policies:
        if said := refusal(one, replicas):
            ctx.fail(said)
    return requirements, policies


def _workload(
    ctx: typer.Context, trace: Path | None, start_s: float, duration_s: float, demand_s: float, replicas: int
) -> Workload:
    """Arrivals as long as a run, and a little longer, for the first of them serve to warm up. Its title names them."""
    from experiments.live.comparison import generated_arrivals
    from experiments.live.replicas import ReplicatedWorkload, flash_crowd
    from experiments.workloads import Workload
    from mead.spark.sources.trace import SPARE_S
    from mead.workload import Generator, TraceError

    length_s = duration_s + SPARE_S
    arrivals: Generator | Trace
    try:
        if trace is not None:
            whole = read_trace_or_fail(ctx, trace, iat=False, column=None, unit=None, sort=False)
            arrivals = whole.between(start_s, start_s + length_s)
            said = f"arrivals of {trace.name}" + (f" from {start_s:g} s on" if start_s else "")
        elif replicas > 1:
            arrivals, said = flash_crowd(length_s, demand_s), "generated arrivals with a flash crowd"
        else:
            arrivals, said = generated_arrivals(length_s)
    except (ValueError, TraceError) as error:
        ctx.fail(str(error))
    if replicas > 1:
        return ReplicatedWorkload("live", said, demand_s, arrivals, most_replicas=replicas)
    return Workload("live", said, demand_s, arrivals)


def add_to(app: typer.Typer) -> None:
    """Add it to the experiments."""
    app.command("live")(live)
