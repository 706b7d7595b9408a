"""How fast skylines and top-delta queries are, beside the form of the paper and the definition.

Run it with ``make bench BENCHMARKS=benchmarks/bench_preference.py``, or as a script. Uniform tuples of eight
attributes as in the paper; processor time on one core, the best of several runs. Goals: 50,000 tuples in 40 ms for the
skyline and in 50 ms for the best hundred, and at least 30 times as fast as the block-nested-loop form beside it.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console

from mead.preference.block_nested_loop import nested_loop_factors, nested_loop_skyline
from mead.preference.skyline import merged, skyline
from mead.preference.top_delta import Dominants, top_delta

if TYPE_CHECKING:
    from benchmarks.common import best_s, fresh_process_table, table
else:  # run as a script, whose folder is where its imports come from
    from common import best_s, fresh_process_table, table

SIZES = (2_000, 8_000, 30_000, 50_000)
ATTRIBUTES = 8
DELTA = 100

FIRST_SKYLINE = """
import time
started = time.perf_counter()
import numpy as np
from mead.preference.top_delta import top_delta
imported = time.perf_counter()
top_delta(np.random.default_rng(1).random((1000, 8)), 100)
print(imported - started, time.perf_counter() - imported)
"""

console = Console(width=110)


def bench_queries() -> None:
    """Both queries, in the form of the paper and in ours; every answer is checked before it is timed."""
    result = table(
        f"Uniform tuples of {ATTRIBUTES} attributes, ms (the best of several runs)",
        "tuples",
        "in the skyline",
        "nested loop",
        "skyline",
        "times as fast",
        "nested loop, factors",
        f"top {DELTA}",
        "times as fast",
    )
    for count in SIZES:
        points = np.random.default_rng(1).random((count, ATTRIBUTES)) * 1000
        slow, slow_factors = nested_loop_skyline(points), nested_loop_factors(points)
        ours = Dominants.of(points)
        if sorted(skyline(points).tolist()) != slow.rows.tolist():
            raise AssertionError("the skylines differ")
        if sorted(ours.factors.tolist()) != sorted(slow_factors.factors.tolist()):
            raise AssertionError("the factors differ")
        top_delta(points, DELTA)
        nested_s = best_s(partial(nested_loop_skyline, points), runs=2)
        skyline_s = best_s(partial(skyline, points))
        factors_s = best_s(partial(nested_loop_factors, points), runs=2)
        top_s = best_s(partial(top_delta, points, DELTA))
        result.add_row(
            f"{count:,}",
            f"{slow.rows.size:,}",
            *(f"{1e3 * time_s:.1f}" for time_s in (nested_s, skyline_s)),
            f"{nested_s / skyline_s:.0f}",
            *(f"{1e3 * time_s:.1f}" for time_s in (factors_s, top_s)),
            f"{factors_s / top_s:.0f}",
        )
    console.print(result)


def bench_merge() -> None:
    """What a window-level task does: two results become one."""
    result = table("Merging two results, ms", "tuples behind each", "sizes", "skyline", "with factors")
    for count in SIZES:
        rng = np.random.default_rng(2)
        parts = [rng.random((count, ATTRIBUTES)) for _ in range(2)]
        one, other = (Dominants.of(part) for part in parts)
        skyline_s = best_s(partial(merged, one.points, other.points))
        factors_s = best_s(partial(one.merged, other))
        sizes = f"{one.points.shape[0]:,} + {other.points.shape[0]:,}"
        result.add_row(f"{count:,}", sizes, f"{1e3 * skyline_s:.1f}", f"{1e3 * factors_s:.1f}")
    console.print(result)


if __name__ == "__main__":
    bench_queries()
    bench_merge()
    console.print(
        fresh_process_table("The first query of a process, s", FIRST_SKYLINE, "imports", "first top 100 of 1,000")
    )
