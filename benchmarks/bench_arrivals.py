"""Benchmark sampling, generating, writing and reading of arrivals.

Run it with ``make bench BENCHMARKS=benchmarks/bench_arrivals.py``, or as a script. Every figure is the best of three
runs on one thread (readers use as many as pyarrow does). Goals: 10 million samples per second of a 16-state MAP on
one core; millions of events read in well under a second; a cold compile below two seconds.
"""

from __future__ import annotations

import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console

from mead.queueing import MAP, PH
from mead.workload import KINDS, Trace, read_trace, write_trace

if TYPE_CHECKING:
    from benchmarks.common import best_s, fresh_process_table, table
else:  # run as a script, whose folder is where its imports come from
    from common import best_s, fresh_process_table, table

SAMPLES = 4_000_000
ORACLE_SAMPLES = 10_000
EVENTS = 5_000_000
GENERATED: dict[str, dict[str, Any]] = {
    "poisson": {"rate_per_s": 10_000.0, "count": 5_000_000},
    "map": {"rate_per_s": 10_000.0, "idc": 1_000.0, "count": 5_000_000},
    "self-similar": {"rate_per_s": 10_000.0, "hurst": 0.75, "count": 5_000_000},
    "random-walk": {"count": 5_000_000},
    "steps": {},
    "synt": {},
    "live-maps": {},
}

FIRST_SAMPLE = """
import time
started = time.perf_counter()
import numpy as np
from mead.queueing.map import MAP
imported = time.perf_counter()
MAP.two_state(100.0, 50.0).sample(1000, np.random.default_rng(1))
print(imported - started, time.perf_counter() - imported)
"""

wall_s = partial(best_s, runs=3, clock=time.perf_counter)
"""Readers use several threads, so the wall clock counts."""

console = Console(width=100)


def sixteen_states(*, hidden: bool) -> MAP:
    """A bursty MAP of 16 states, with or without transitions that bring no arrival."""
    if not hidden:
        parts = [MAP.two_state(1.0, 20.0), *(MAP.two_state(1.0, 6.0, ratio=2.0) for _ in range(3))]
        result = parts[0]
        for part in parts[1:]:
            result = result.composed(part)
        return result.with_rate(330.0)
    rates = np.diag(np.linspace(50.0, 900.0, 16))
    switching = np.random.default_rng(1).random((16, 16)) * 40
    np.fill_diagonal(switching, 0.0)
    return MAP(switching - np.diag(switching.sum(axis=1)) - rates, rates)


def bench_sampling() -> None:
    """Samples per second, and the field's own library beside ours."""
    rng = np.random.default_rng(1)
    result = table("Sampling on one core", "process", "states", "transitions per sample", "million samples/s")
    processes = {
        "two states": MAP.two_state(330.0, 200.0),
        "16 states, no hidden transitions": sixteen_states(hidden=False),
        "16 states, hidden transitions": sixteen_states(hidden=True),
    }
    for name, process in processes.items():
        process.sample(1_000, rng)
        seconds = wall_s(lambda process=process: process.sample(SAMPLES, rng))  # type: ignore[misc]
        transitions = float(process.time_stationary @ -np.diag(process.D0)) / process.rate_per_s
        result.add_row(name, str(process.states), f"{transitions:.2f}", f"{SAMPLES / seconds / 1e6:.1f}")
    service = PH.erlang(2, 0.0015)
    seconds = wall_s(lambda: service.sample(SAMPLES, rng))
    result.add_row("Erlang-2 service times", "2", "2.00", f"{SAMPLES / seconds / 1e6:.1f}")
    oracle = oracle_samples_per_s(processes["16 states, hidden transitions"])
    if oracle is not None:
        result.add_row("line-solver's map_sample, the same 16 states", "16", "", f"{oracle / 1e6:.4f}")
    console.print(result)


def oracle_samples_per_s(process: MAP) -> float | None:
    """What line-solver does per second, if it is installed."""
    try:
        from line_solver.api.mam import map_sample
    except ImportError:
        return None
    started = time.perf_counter()
    map_sample(np.array(process.D0), np.array(process.D1), ORACLE_SAMPLES)
    return ORACLE_SAMPLES / (time.perf_counter() - started)


def bench_compile() -> None:
    """What the first sample of a process costs, with and without a compiled kernel on disk."""
    columns = ("imports, s", "first sample, s")
    console.print(fresh_process_table("First sample of a fresh process", FIRST_SAMPLE, *columns))


def bench_generators() -> None:
    """Traces of every kind, the default or the published length."""
    result = table("Generators", "kind", "arrivals", "s", "million arrivals/s")
    for name, kind in KINDS.items():
        generator = kind.build(**GENERATED[name])
        traces: list[Trace] = []
        seconds = wall_s(
            lambda generator=generator, traces=traces: traces.append(generator.generate(np.random.default_rng(1)))  # type: ignore[misc]
        )
        arrivals = len(traces[0])
        result.add_row(name, f"{arrivals:,}", f"{seconds:.3f}", f"{arrivals / seconds / 1e6:.1f}")
    console.print(result)


def bench_files() -> None:
    """Reading and writing five million events in every format."""
    trace = Trace.from_iats_s(np.random.default_rng(1).standard_exponential(EVENTS - 1) / 330)
    result = table(f"Files of {EVENTS:,} events", "file", "MB", "write, s", "read, s", "million events/s read")
    with tempfile.TemporaryDirectory() as folder:
        for name, iat in (("t.parquet", False), ("t.npy", False), ("t.csv", False), ("iats.csv", True)):
            path = Path(folder) / name
            write_s = wall_s(lambda path=path, iat=iat: write_trace(trace, path, iat=iat))  # type: ignore[misc]
            read_s = wall_s(lambda path=path, iat=iat: read_trace(path, iat=iat))  # type: ignore[misc]
            size = path.stat().st_size / 1e6
            result.add_row(name, f"{size:.1f}", f"{write_s:.2f}", f"{read_s:.2f}", f"{EVENTS / read_s / 1e6:.1f}")
    console.print(result)


if __name__ == "__main__":
    bench_sampling()
    bench_compile()
    bench_generators()
    bench_files()
