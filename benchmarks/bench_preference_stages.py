"""Benchmark the stages of a preference query without Spark: tasks run in two processes.

    benchmarks/bench_preference_stages.py [--beside FOLDER] [--batches N] [--tasks N] [--runs N]

All tuples wait in the log. A micro-batch has five panes of 8,000 tuples, which are split evenly over the tasks of the
pane stage. Printed: the time on the wall, and the CPU time of driver and tasks, per micro-batch, with both stages at
once and one after the other. ``--beside`` also runs the sources of another version, its folder `src`. All run in turn
and must find as many tuples.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from rich.console import Console

import mead
from mead.preference.control.degrees import Degrees
from mead.preference.kernels.dominance import Preferences
from mead.preference.spark.engine import Engine
from mead.preference.spark.pane_stage import warm_worker
from mead.preference.spark.query_spec import ARRIVAL, END, EVENT, START, WINDOW, ExecutionOptions, QuerySpec
from mead.preference.spark.state import QueryFolder
from mead.preference.windows.owner_table import Splitting
from mead.preference.windows.panes import Windows
from mead.spark.log.stream_log import StreamLog

if TYPE_CHECKING:
    from benchmarks.common import table
else:  # run as a script, whose folder is where its imports come from
    from common import table

ROWS, GAP_US = 40_000, 25
NAMES = [f"a{n}" for n in range(8)]
SPEC = QuerySpec(Preferences(tuple(NAMES), ("min",) * 8), Windows(1000, 200))

console = Console(width=110)


def write_tuples(folder: QueryFolder, batches: int) -> None:
    """Put micro-batches of the input into the log of a query."""
    log, rng = StreamLog(folder.tuples), np.random.default_rng(1)
    for number in range(batches):
        seen_us = np.arange(number * ROWS, (number + 1) * ROWS) * GAP_US
        batch = pa.record_batch({EVENT: seen_us, ARRIVAL: seen_us} | {name: rng.random(ROWS) for name in NAMES})
        log.commit(number, [(log.write([batch], batch.schema), {"rejected": 0, "written_s": float(number)})])


def process_all(engine: Engine, *, at_once: bool) -> None:
    """Process all waiting tuples."""
    if not at_once:
        while engine.step():
            pass
        return
    from mead.preference.spark.overlap import OverlappedStages  # an earlier version has none

    with OverlappedStages(engine, lambda _: None) as stages:
        while stages.advance():
            pass


def measure(batches: int, tasks: int, *, at_once: bool) -> None:
    """Print ms per micro-batch on the wall and of CPU time, and the number of tuples in all results."""
    stamp = pa.timestamp("us", tz="UTC")
    bounds = [(WINDOW, pa.int64()), (START, stamp), (END, stamp)]
    schema = pa.schema([*bounds, *((name, pa.float64()) for name in NAMES)])
    options = ExecutionOptions(
        Splitting.EVEN, elastic=False, start=Degrees(tasks, tasks), most=2 * tasks, most_rows=ROWS
    )
    with tempfile.TemporaryDirectory() as place:
        folder = QueryFolder(Path(place)).open(SPEC, NAMES)
        write_tuples(folder, batches)
        with ProcessPoolExecutor(2) as pool:
            used_s: list[float] = []

            def run(function: Callable[[Any], Any], works: Sequence[Any]) -> list[Any]:
                done = list(pool.map(partial(run_task, function), works))
                used_s.extend(task_s for _, task_s in done)
                return [result for result, _ in done]

            run(warm_worker, [(SPEC, options.kernel)] * 8)
            engine = Engine(SPEC, options, folder, schema, run, time.monotonic)
            engine.step()  # compiles
            used_s.clear()
            driver_s, started_s = time.process_time(), time.perf_counter()
            process_all(engine, at_once=at_once)
            took_s, used_s = time.perf_counter() - started_s, [*used_s, time.process_time() - driver_s]
        print(1e3 * took_s / (batches - 1), 1e3 * sum(used_s) / (batches - 1), StreamLog(folder.results).end)


def run_task(function: Callable[[Any], Any], work: Any) -> tuple[Any, float]:
    """Run a task; return its result and its CPU time."""
    started_s = time.process_time()
    return function(work), time.process_time() - started_s


def bench_stages(beside: Path | None, batches: int, tasks: Sequence[int], runs: int) -> None:
    """Measure in fresh processes, in turn."""
    own = Path(mead.__file__).parents[1]
    forms = {"both stages at once": (own, ["--at-once"]), "one after the other": (own, [])}
    if beside:
        forms["the other version"] = (beside, [])
    result = table(
        f"Stages of a preference query, ms per micro-batch of {ROWS:,} tuples (best of {runs})",
        "stages", "tasks of each", "on the wall", "CPU",
    )  # fmt: skip
    for number in tasks:
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in forms}
        sizes = set()
        for name in [*forms] * runs:
            source, form = forms[name]
            command = [sys.executable, __file__, "--batches", str(batches), "--measure", str(number), *form]
            environment = os.environ | {"PYTHONPATH": str(source.resolve())}
            done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)  # noqa: S603
            wall_ms, cpu_ms, size = done.stdout.split()
            found[name].append((float(wall_ms), float(cpu_ms)))
            sizes.add(size)
        if len(sizes) > 1:
            raise AssertionError("the results differ")
        for name, times_ms in found.items():
            result.add_row(name, f"{number}", *(f"{min(times):.0f}" for times in zip(*times_ms, strict=True)))
    console.print(result)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--beside", type=Path, metavar="FOLDER")
    parser.add_argument("--batches", type=int, default=20)
    parser.add_argument("--tasks", type=int, action="append")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--measure", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--at-once", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        measure(given.batches, given.measure, at_once=given.at_once)
    else:
        bench_stages(given.beside, given.batches, given.tasks or (2, 4), given.runs)
