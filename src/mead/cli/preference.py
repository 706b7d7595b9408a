"""``mead preference``: the skyline or the top N of every window of a stream, on Spark."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from mead.cli.inputs import check_java
from mead.cli.terminal import AsJson, Seed, print_json

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from mead.preference.spark.handle import PreferenceQuery
    from mead.preference.spark.points import GeneratedPoints

SHOWN = 20
"""Windows in the table. The JSON document has all of them."""

FORMATS = {".parquet": "parquet", ".csv": "csv", ".json": "json"}


def preference(
    ctx: typer.Context,
    source: Annotated[
        Path | None,
        typer.Argument(
            metavar="FOLDER",
            help="Folder of files to read as a stream (Parquet, CSV with a header, or JSON lines), or a single file. "
            "Default: generated points.",
        ),
    ] = None,
    *,
    event_time: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Event time: a timestamp, or microseconds since 1970."),
    ] = None,
    minimise: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="Column to minimise; may be repeated.")
    ] = None,
    maximise: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="Column to maximise; may be repeated.")
    ] = None,
    compare: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="Column for `--dominates`; may be repeated.")
    ] = None,
    dominates: Annotated[
        str | None,
        typer.Option(
            metavar="MODULE:FUNCTION",
            help="A dominance relation of your own on the columns of `--compare`, in place of minimise and maximise.",
        ),
    ] = None,
    window: Annotated[
        str, typer.Option(metavar="LENGTH", help="Length of a window, such as `10 s` or `500 ms`.")
    ] = "1 s",
    slide: Annotated[
        str | None, typer.Option(metavar="LENGTH", help="Time between starts of windows. Default: the window length.")
    ] = None,
    top: Annotated[
        int | None, typer.Option(metavar="N", help="Return the best N of every window. Default: the whole skyline.")
    ] = None,
    arrival_time: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column that orders the tuples of a micro-batch. Default: the event time."),
    ] = None,
    slack: Annotated[
        str | None,
        typer.Option(
            metavar="LENGTH", help="Time to wait for late tuples. Default: the longest delay so far (K-slack)."
        ),
    ] = None,
    target_drop: Annotated[
        float,
        typer.Option(metavar="RATIO", help="Accept this fraction of dropped tuples and wait less (adaptive K-slack)."),
    ] = 0.0,
    max_ahead: Annotated[
        str,
        typer.Option(
            metavar="LENGTH",
            help="Set tuples aside whose event time is further ahead of their arrival: unit or clock is wrong.",
        ),
    ] = "10 min",
    out: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Write the results to this folder, as Parquet, in window order."),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Keep state and results here, so that a killed query can resume. Default: a temporary folder.",
        ),
    ] = None,
    files: Annotated[int, typer.Option(min=1, metavar="N", help="Maximum files per micro-batch.")] = 8,
    duration: Annotated[
        float | None,
        typer.Option(
            min=1.0,
            metavar="SECONDS",
            help="Follow the folder for this time. Default: until all present files are read.",
        ),
    ] = None,
    rate: Annotated[float, typer.Option(min=1.0, metavar="PER_S", help="Rate of generated points.")] = 2000.0,
    idc: Annotated[
        float, typer.Option(min=1.0, metavar="I", help="Index of dispersion of generated points; 1 is Poisson.")
    ] = 200.0,
    mean_delay: Annotated[
        float,
        typer.Option(min=0.0, metavar="SECONDS", help="Mean delay of generated points; the longest is twice this."),
    ] = 0.2,
    attributes: Annotated[int, typer.Option(min=1, metavar="N", help="Number of columns of generated points.")] = 8,
    seed: Seed = 1,
    workers: Annotated[
        int | None,
        typer.Option(min=2, metavar="N", help="Maximum tasks of both stages together. Default: twice the cores."),
    ] = None,
    splitting: Annotated[
        Literal["adaptive", "never", "even"], typer.Option(help="Split large panes over several tasks.")
    ] = "adaptive",
    elastic: Annotated[bool, typer.Option("--elastic/--static", help="Adapt the number of tasks to the load.")] = True,
    profile: Annotated[
        Literal["code", "paper"],
        typer.Option(help="Parameters of the fuzzy controller: from the authors' code or from their paper."),
    ] = "code",
    most_rows: Annotated[
        int,
        typer.Option(
            min=1,
            metavar="N",
            help="Maximum rows per micro-batch. A larger backlog is split; control acts between the parts.",
        ),
    ] = 200_000,
    master: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Spark master.  [default: all cores of this machine]", show_default=False),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find the best tuples of every window of a stream: those that no other tuple dominates.

    Prints every window once, in order. With `--folder` this also holds for a query that was killed and resumed.

    Example: `mead preference offers --event-time seen --minimise price --maximise stars --window "10 s" --slide "2 s"`

    Example: `mead preference --rate 5000 --duration 10 --window "1 s" --slide "200 ms" --top 10`
    """
    if source is not None and event_time is None:
        ctx.fail("name the column of the event time with --event-time")
    if source is None and (minimise or maximise or compare or dominates or event_time or arrival_time):
        ctx.fail("these options need a FOLDER to read; generated points have their own columns")
    from mead.preference.kernels.dominance import PreferenceError
    from mead.preference.spark.query_spec import length_ms

    try:  # check before Spark starts
        for what, length in (
            ("--window", window),
            ("--slide", slide),
            ("--slack", slack),
            ("--max-ahead", max_ahead),
        ):
            if length is not None:
                length_ms(length, what)
    except PreferenceError as error:
        ctx.fail(str(error))
    found = [] if source is None else _files(ctx, source)
    relation = None if dominates is None else _relation(ctx, dominates)
    check_java(ctx)
    from mead.preference.spark.handle import QueryFailedError

    asked: dict[str, Any] = {
        "window": window,
        "slide": slide,
        "top": top,
        "slack": slack,
        "target_drop_ratio": target_drop,
        "max_ahead": max_ahead,
        "workers": workers,
        "splitting": splitting,
        "elastic": elastic,
        "profile": profile,
        "most_rows": most_rows,
    }
    with ExitStack() as opened:
        place = _place(ctx, folder, opened)
        spark = _started(ctx, master, opened)
        try:
            if source is None:
                points = _points(rate, idc, mean_delay, duration or 10.0, attributes, seed)
                query, tuples = _ask_for_points(points, spark, place, asked), len(points.trace)
            else:
                stream = _stream(ctx, spark, source, found, files)
                asked |= {"event_time": event_time, "arrival_time": arrival_time}
                asked |= {"minimise": minimise or [], "maximise": maximise or []}
                asked |= {"compare": compare or [], "dominates": relation}
                query, tuples = _ask(stream, place, asked, at_once=duration is None), None
            with query:
                if duration is None or source is None:
                    query.finish(tuples)
                else:
                    _follow(query, duration)
                if out is not None:
                    _write(query, place, out)
                _tell(query, out, as_json=as_json)
        except (PreferenceError, QueryFailedError) as error:
            ctx.fail(str(error))


def _relation(ctx: typer.Context, name: str) -> Any:
    """Import the function, from the present folder too."""
    from mead.keys import ConfigError
    from mead.loading import load_object, modules_in

    modules_in(Path())
    try:
        return load_object(name)
    except ConfigError as error:
        ctx.fail(f"--dominates: {error}")


def _place(ctx: typer.Context, folder: Path | None, opened: ExitStack) -> Path:
    """Lock and return the folder of this command, which holds the folder of the query."""
    from tempfile import TemporaryDirectory

    from mead.spark.pipeline.folder_lock import lock_folder
    from mead.spark.pipeline.operators import OperatorError

    if folder is None:
        temporary = TemporaryDirectory(prefix="mead-preference-", ignore_cleanup_errors=True)
        return Path(opened.enter_context(temporary))
    try:
        opened.enter_context(lock_folder(folder))
    except OperatorError as error:
        ctx.fail(str(error))
    return folder


def _started(ctx: typer.Context, master: str | None, opened: ExitStack) -> SparkSession:
    """Start a Spark session. It is stopped at the end unless it existed before."""
    from pyspark.sql import SparkSession

    from mead.spark.runtime.quiet_start import SparkStartError, start_quietly
    from mead.spark.runtime.spark_session import start_session

    ours = SparkSession.getActiveSession() is None
    try:
        with start_quietly():
            spark = start_session("mead preference", master=master)
    except SparkStartError as error:
        ctx.fail(f"Spark did not start: {error}; see `mead doctor`")
    if ours:
        opened.callback(spark.stop)
    return spark


def _files(ctx: typer.Context, source: Path) -> list[Path]:
    """Return the files that Spark would read, all of one format."""
    if source.is_file():
        if source.suffix not in FORMATS:
            ctx.fail(f"{source}: the name must end in one of {', '.join(FORMATS)}")
        return [source]
    found = sorted(file for file in source.glob("[!._]*") if file.suffix in FORMATS)
    if not found:
        there = (
            "has no file that ends in" if source.is_dir() else "does not exist; name a folder with files that end in"
        )
        ctx.fail(f"{source}: {there} {', '.join(FORMATS)}")
    if len(endings := sorted({file.suffix for file in found})) > 1:
        ctx.fail(f"{source}: has files that end in {' and in '.join(endings)}; leave one kind in it, or name one file")
    return found


def _stream(ctx: typer.Context, spark: SparkSession, source: Path, found: list[Path], files: int) -> DataFrame:
    """Open the files as a stream. Columns are those of the present files; later files are read too."""
    from pyspark.errors import AnalysisException

    kind = FORMATS[found[0].suffix]
    options = {"header": "true", "inferSchema": "true"} if kind == "csv" else {}
    try:
        schema = spark.read.format(kind).options(**options).load([str(file) for file in found]).schema
    except AnalysisException as error:
        ctx.fail(f"{source}: cannot be read as {kind}: {str(error).splitlines()[0]}")
    reader = spark.readStream.format(kind).options(**options).schema(schema).option("maxFilesPerTrigger", files)
    pattern = found[0].name if source.is_file() else f"*{found[0].suffix}"
    parent = source.parent if source.is_file() else source
    return reader.option("pathGlobFilter", pattern).load(str(parent.resolve()))


def _points(
    rate: float, idc: float, mean_delay: float, duration_s: float, attributes: int, seed: int
) -> GeneratedPoints:
    import numpy as np

    from mead.preference.spark.points import GeneratedPoints
    from mead.workload import Markovian, Poisson

    kind = (
        Markovian(rate_per_s=rate, idc=idc, duration_s=duration_s)
        if idc > 1
        else Poisson(rate_per_s=rate, duration_s=duration_s)
    )
    arrivals = kind.generate(np.random.default_rng([seed, 1]))
    return GeneratedPoints(arrivals.with_random_delays(mean_delay, np.random.default_rng([seed, 2])), attributes, seed)


def _ask_for_points(
    points: GeneratedPoints, spark: SparkSession, place: Path, asked: dict[str, Any]
) -> PreferenceQuery:
    columns = {"event_time": "event_us", "arrival_time": "arrival_us", "minimise": points.columns, "maximise": []}
    return _ask(points.stream(spark, place / "points"), place, asked | columns, at_once=False)


def _ask(stream: DataFrame, place: Path, asked: dict[str, Any], *, at_once: bool) -> PreferenceQuery:
    from mead.preference.spark.query import preference_query

    trigger = {"availableNow": True} if at_once else {"processingTime": "200 milliseconds"}
    return preference_query(stream, folder=place / "query", trigger=trigger, **asked)


def _follow(query: PreferenceQuery, duration_s: float) -> None:
    """Run the query for a time, or until it ends or the user presses Ctrl-C; then stop it."""
    from contextlib import suppress
    from time import monotonic, sleep

    until_s = monotonic() + duration_s
    with suppress(KeyboardInterrupt):
        while query.active and monotonic() < until_s:
            sleep(0.1)
    query.stop()


def _write(query: PreferenceQuery, place: Path, out: Path) -> None:
    """Write the results since the last call with Spark's file sink."""
    from pyspark.errors import StreamingQueryException

    from mead.preference.spark.handle import QueryFailedError

    writer = query.results.writeStream.format("parquet").option("checkpointLocation", str(place / "written"))
    try:
        writer.trigger(availableNow=True).start(str(out.resolve())).awaitTermination()
    except StreamingQueryException as error:
        raise QueryFailedError.of(error) from None


def _tell(query: PreferenceQuery, out: Path | None, *, as_json: bool) -> None:
    windows = query.windows()
    if as_json:
        print_json(
            {
                "tuples": query.engine.state.offset,
                "dropped": query.dropped,
                "far": query.far,
                "rejected": query.rejected,
                "micro_batches": query.engine.state.step + 1,
                "windows": [
                    {
                        "window": one.window,
                        "start": one.start.isoformat(),
                        "end": one.end.isoformat(),
                        "size": one.size,
                    }
                    for one in windows
                ],
                "out": None if out is None else str(out),
            }
        )
        return

    from rich.console import Console

    from mead.reports.tables import plain_table

    table = plain_table(
        f"The last {len(windows[-SHOWN:])} of {len(windows):,} windows", "window", "from", "to", "best tuples"
    )
    for one in windows[-SHOWN:]:
        table.add_row(str(one.window), *(at.isoformat(sep=" ")[:23] for at in (one.start, one.end)), f"{one.size:,}")
    console = Console()
    console.print(table)
    console.print(
        f"{query.engine.state.offset:,} tuples, of which {query.dropped:,} came too late; "
        f"{query.rejected:,} more could not be compared",
        highlight=False,
    )
    if query.far:
        console.print(
            f"{query.far:,} of the tuples were set aside: their event times lie too far ahead (--max-ahead)",
            highlight=False,
        )
    if out is not None:
        console.print(f"Written: {out}", highlight=False, markup=False)
