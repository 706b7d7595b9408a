"""Preference queries over any streaming DataFrame.

For example::

    hotels = mead.preference_query(
        offers, event_time="seen", minimise=["price"], maximise=["stars"], window="10 s", slide="2 s", folder="hotels"
    )
    hotels.results.writeStream.format("console").start()
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal

from mead.preference.control.degrees import Degrees
from mead.preference.control.fuzzy import PROFILES
from mead.preference.control.threshold import PAPER_SET_POINT
from mead.preference.kernels.dominance import Direction, PreferenceError, Preferences
from mead.preference.kernels.relation import Dominates
from mead.preference.spark.emission import warm_emitter
from mead.preference.spark.engine import Engine
from mead.preference.spark.handle import PreferenceQuery
from mead.preference.spark.ingest import arrow_columns, check_columns, result_schema, write_tuples
from mead.preference.spark.pane_stage import warm_worker
from mead.preference.spark.query_spec import ExecutionOptions, Kernel, QuerySpec, length_ms
from mead.preference.spark.state import QueryFolder
from mead.preference.spark.user_relation import Relation
from mead.preference.spark.window_runner import D, RunTasks, W
from mead.preference.windows.owner_table import Splitting
from mead.preference.windows.panes import Windows
from mead.spark.log.source import LogDataSource
from mead.spark.log.store import LogError
from mead.spark.log.tasks import write_number
from mead.spark.pipeline.folder_lock import lock_folder
from mead.spark.pipeline.operators import OperatorError, to_ddl

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import DataFrame

SPLITTING = {"adaptive": Splitting.ADAPTIVE, "never": Splitting.NEVER, "even": Splitting.EVEN}


def preference_query(
    df: DataFrame,
    *,
    event_time: str,
    minimise: Sequence[str] = (),
    maximise: Sequence[str] = (),
    compare: Sequence[str] = (),
    dominates: Dominates | None = None,
    window: str | float | timedelta,
    slide: str | float | timedelta | None = None,
    folder: str | Path,
    top: int | None = None,
    arrival_time: str | None = None,
    slack: str | float | timedelta | None = None,
    target_drop_ratio: float = 0.0,
    max_ahead: str | float | timedelta = "10 min",
    workers: int | None = None,
    start: tuple[int, int] = (1, 1),
    elastic: bool = True,
    splitting: Literal["adaptive", "never", "even"] = "adaptive",
    set_point: float = PAPER_SET_POINT,
    control: str | float | timedelta = 2.5,
    profile: Literal["code", "paper"] = "code",
    kernel: Literal["sorted", "nested-loop"] = "sorted",
    trigger: dict[str, Any] | None = None,
    most_rows: int = ExecutionOptions.most_rows,
) -> PreferenceQuery:
    """Start a skyline or top-k query over sliding windows of a stream.

    ``event_time`` is a timestamp, or a bigint in microseconds since 1970. ``window`` and ``slide`` are seconds, or a
    text such as ``"500 ms"``; without a slide, windows do not overlap. ``top`` returns that many tuples of each
    skyline, those that come nearest to beating all. A query that was stopped or killed continues in its ``folder``,
    which only one process at a time may use. If files in it are deleted or damaged, this raises PreferenceError.

    With ``compare`` and ``dominates``, the query returns the tuples that no other dominates by a relation of your own:
    ``dominates(one, other)`` gets two arrays with the values of the columns ``compare``. It must be irreflexive and
    transitive, which is checked on samples. It is compiled with numba if possible; if not, a warning says so.

    By default the query waits for late tuples as long as the longest delay seen (K-slack); with ``slack`` for a fixed
    time; with ``target_drop_ratio`` only as long as needed to drop no more than that part. ``arrival_time`` is a column
    that orders the tuples of a micro-batch; by default their event times do. Tuples whose event time is more than
    ``max_ahead`` after their arrival, or after the time at which they are read, are set aside and counted: their units
    or clocks are wrong, and the query would wait for that time, or drop all others.

    ``workers`` limits the tasks of both stages together, by default to twice the cores. Two levels of control use them,
    beginning with ``start``: ``splitting`` of hot panes, and ``elastic`` numbers of tasks, decided every ``control``
    seconds by the fuzzy controller that the authors of Elastic-PPQ released, or by the ``profile`` of their paper.
    Results do not depend on these options.

    ``trigger`` is that of Spark's ``writeStream``. A micro-batch of the stages has at most ``most_rows`` rows, unless
    several tasks read a larger one of the input. Control acts between micro-batches: after a pause, smaller ones react
    sooner.
    """
    directions = _directions(minimise, maximise, compare, dominates)
    length, step = length_ms(window, "window"), length_ms(window if slide is None else slide, "slide")
    spec = QuerySpec(
        Preferences(tuple(directions), tuple(directions.values())),
        _windows(length, step),
        top,
        None if slack is None else 1000 * length_ms(slack, "slack"),
        target_drop_ratio,
        1000 * length_ms(max_ahead, "max_ahead"),
        None if dominates is None else Relation.of(dominates),
    )
    check_columns(df, spec.preferences, event_time, *([arrival_time] if arrival_time else []))
    spark = df.sparkSession
    options = ExecutionOptions(
        SPLITTING[splitting],
        elastic,
        Degrees(*start),
        workers or 2 * spark.sparkContext.defaultParallelism,
        set_point,
        length_ms(control, "control") / 1e3,
        PROFILES[profile],
        kernel=Kernel(kernel),
        most_rows=most_rows,
        slots=spark.sparkContext.defaultParallelism,
    )
    place, columns = QueryFolder(Path(folder)), result_schema(df)

    def results() -> DataFrame:
        tasks = place.path / "tasks"
        if not tasks.exists():
            write_number(tasks, 1)
        spark.dataSource.register(LogDataSource)
        schema = to_ddl({c.name: c.dataType.simpleString() for c in columns})
        reader = spark.readStream.format(LogDataSource.name())
        return reader.options(path=str(place.results), schema=schema, tasks=str(tasks), consumer="results").load()

    with ExitStack() as opened:
        opened.enter_context(_locked(place.path))  # before any file in it changes
        place.open(spec, [f"{name} {kind}" for name, kind in df.dtypes])
        place.check(spec, options)
        try:
            writer = write_tuples(df, place.tuples, spec.preferences, event_time, arrival_time)
        except LogError as error:  # a process of an earlier query holds it
            raise PreferenceError(str(error)) from None
        run = make_spark_runner(spark.sparkContext)
        warm_emitter(spec.windows)
        run(warm_worker, [(spec, options.kernel)] * options.slots)
        engine = Engine(spec, options, place, arrow_columns(columns), run, monotonic)
        if trigger is not None:
            writer = writer.trigger(**trigger)
        tuples = writer.option("checkpointLocation", str(place.checkpoint)).start()
        return PreferenceQuery(engine, tuples, results, opened.pop_all().close)


def _directions(
    minimise: Sequence[str], maximise: Sequence[str], compare: Sequence[str], dominates: Dominates | None
) -> dict[str, Direction]:
    """Return the preferred columns. Those of a user's relation are left as they are."""
    if bool(compare) != (dominates is not None):
        raise PreferenceError("compare and dominates belong together: the columns, and a function of their values")
    if compare and (minimise or maximise):
        raise PreferenceError("dominates replaces minimise and maximise; leave these out")
    directions: dict[str, Direction] = dict.fromkeys((*minimise, *compare), "min")
    for name in maximise:
        if name in directions:
            raise PreferenceError(f"column {name}: choose either minimise or maximise")
        directions[name] = "max"
    return directions


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Lock the folder: a second query would remove the files of the first as leftovers of a crash."""
    with ExitStack() as opened:
        try:
            opened.enter_context(lock_folder(folder))
        except OperatorError as error:
            raise PreferenceError(str(error)) from error
        yield


def make_spark_runner(context: SparkContext) -> RunTasks:
    """Return a runner of Spark jobs, with one task for each piece of work."""

    def run(function: Callable[[W], D], works: Sequence[W]) -> list[D]:
        return context.parallelize(works, len(works)).map(function).collect()

    return run


def _windows(length: int, slide: int) -> Windows:
    try:
        return Windows(length, slide)
    except ValueError as error:
        raise PreferenceError(str(error)) from error
