"""Benchmark CPU shares with real control groups: cost, delay and accuracy of a change.

    benchmarks/bench_execute.py

Workers are Python processes that spin and report the CPU time they have had, looked at every 2 ms. They have the
highest weight that there is, so that it is the limits that are seen and not what else runs on the machine; the
delays are shown with the ordinary weight too, and the last table is about the weight.
"""

from __future__ import annotations

import mmap
import os
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from itertools import product
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.table import Table

from mead.arrays import FloatArray
from mead.cpu import detect
from mead.cpu.cgroup import CgroupShares
from mead.cpu.control_file import write

if TYPE_CHECKING:
    from benchmarks.common import table
else:  # run as a script, whose folder is where its imports come from
    from common import table

PERIODS_US = (20_000, 100_000)
SHARES = (0.2, 0.4, 0.7, 1.0)
KEPT_S = 2.0
LOW, HIGH = 0.2, 0.6
CHANGES = 12
SETTLED_S = 0.3
SAMPLE_S = 0.002
CHANGES_TIMED = 2_000
COMPETITORS = 4
SPURTS = 100

SPIN = """
import mmap, struct, sys, time
from mead.cpu import join_group
join_group(sys.argv[1])
with open(sys.argv[2], "r+b") as file:
    shown = mmap.mmap(file.fileno(), 8)
while True:
    struct.pack_into("d", shown, 0, time.process_time())
"""

SPURT = """
import sys, time
from mead.cpu import join_group
join_group(sys.argv[1])
for _ in range(int(sys.argv[2])):
    time.sleep(0.025)
    started, until = time.monotonic(), time.process_time() + 0.010
    while time.process_time() < until:
        pass
    print(time.monotonic() - started)
"""


def main() -> None:
    """Print the tables."""
    console = Console()
    found = detect()
    console.print(f"Shares by {found}")
    if found.kind == "none":
        return
    console.print(cost_table())
    console.print(kept_table())
    console.print(delay_table())
    console.print(burst_table())
    console.print(weight_table())


@contextmanager
def opened(
    operators: Sequence[str] = ("worker",), period_us: int = PERIODS_US[0], burst_us: int = 0
) -> Iterator[CgroupShares]:
    """A manager of this machine."""
    shares = detect().open(operators, period_us=period_us, burst_us=burst_us)
    assert isinstance(shares, CgroupShares)  # noqa: S101 - main has made sure
    with closing(shares):
        weigh(shares, operators[0], shares.most_weight)
        yield shares


def weigh(shares: CgroupShares, operator: str, weight: int) -> None:
    """Have the application compete with this weight."""
    write(Path(shares.group(operator).split(os.pathsep)[0]).parent / shares.weight_file, str(weight))


@contextmanager
def spinning(group: str) -> Iterator[Spinner]:
    """A worker that spins in a group, and its CPU seconds."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(bytes(8))
        file.flush()
        process = subprocess.Popen([sys.executable, "-c", SPIN, group, file.name])  # noqa: S603
        try:
            with mmap.mmap(file.fileno(), 8) as shown:
                spinner = Spinner(shown)
                while not spinner.cpu_s():
                    time.sleep(SAMPLE_S)
                yield spinner
        finally:
            process.kill()
            process.wait()


class Spinner:
    """The CPU time that a worker shows."""

    def __init__(self, shown: mmap.mmap) -> None:
        self._shown = shown

    def cpu_s(self) -> float:
        """CPU seconds so far."""
        return float(struct.unpack_from("d", self._shown)[0])

    def over(self, duration_s: float) -> FloatArray:
        """Rows of wall time and CPU time from now on, sampled."""
        rows = [(time.monotonic(), self.cpu_s())]
        while rows[-1][0] < rows[0][0] + duration_s:
            time.sleep(SAMPLE_S)
            rows.append((time.monotonic(), self.cpu_s()))
        return np.array(rows)


def cost_table() -> Table:
    """Microseconds of a call."""
    result = table("Cost of a call (wall time)", "what", "median us", "99 % us")
    with opened() as shares:
        levels = (0.4, 0.7) * (CHANGES_TIMED // 2)
        shares.set_share("worker", levels[-1])
        calls: dict[str, list[Callable[[], object]]] = {
            "change a share": [partial(shares.set_share, "worker", level) for level in levels],
            "set the same share again": [partial(shares.set_share, "worker", levels[-1])] * CHANGES_TIMED,
            "read usage and throttling": [partial(shares.usage, "worker")] * CHANGES_TIMED,
        }
        for what, repeated in calls.items():
            times_us = []
            for call in repeated:
                started_s = time.perf_counter()
                call()
                times_us.append((time.perf_counter() - started_s) * 1e6)
            result.add_row(what, f"{median(times_us):.1f}", f"{np.percentile(times_us, 99):.1f}")
    return result


def kept_table() -> Table:
    """What a spinning worker gets, and how long it stands still."""
    result = table(
        f"Shares kept over {KEPT_S:g} s", "period", "share", "given", "periods throttled", "longest standstill ms"
    )
    for period_us in PERIODS_US:
        with opened(period_us=period_us) as shares, spinning(shares.group("worker")) as worker:
            for share in SHARES:
                shares.set_share("worker", share)
                time.sleep(period_us * 2e-6)
                before, started_s = shares.usage("worker"), time.monotonic()
                time_s, cpu_s = worker.over(KEPT_S).T
                used = shares.usage("worker").since(before)
                given = used.cpu_s / (time.monotonic() - started_s)
                progressed_s = time_s[1:][np.diff(cpu_s) > 0]
                result.add_row(
                    f"{period_us // 1000} ms",
                    f"{share:g}",
                    f"{given:.3f}",
                    f"{used.throttled_periods / max(used.periods, 1):.0%}",
                    f"{1000 * np.diff(progressed_s).max():.0f}",
                )
    return result


def delay_table() -> Table:
    """Delays from the write to the effect, at random moments of a period."""
    result = table(
        f"Delay of a change between shares {LOW:g} and {HIGH:g}, {CHANGES} changes each way",
        "weight",
        "period",
        "change",
        "mean ms",
        "median ms",
        "10 % ms",
        "90 % ms",
    )
    rng = np.random.default_rng(1)
    for highest, period_us in product((False, True), PERIODS_US):
        delays_s: dict[str, list[float]] = {"up": [], "down": []}
        with opened(period_us=period_us) as shares, spinning(shares.group("worker")) as worker:
            weigh(shares, "worker", shares.most_weight if highest else shares.weight)
            shares.set_share("worker", LOW)
            for _ in range(CHANGES):
                for direction, old, new in (("up", LOW, HIGH), ("down", HIGH, LOW)):
                    time.sleep(SETTLED_S + rng.uniform(0, period_us * 1e-6))
                    shares.set_share("worker", new)
                    # Whole periods, so that the stop-and-go within one does not count.
                    time_s, cpu_s = worker.over(SETTLED_S // (period_us * 1e-6) * period_us * 1e-6).T
                    delays_s[direction].append(delay_s(time_s[-1] - time_s[0], cpu_s[-1] - cpu_s[0], old, new))
        for direction, seen in delays_s.items():
            figures = (f"{1000 * value:.0f}" for value in (np.mean(seen), *np.percentile(seen, (50, 10, 90))))
            weight = "highest" if highest else "ordinary"
            result.add_row(weight, f"{period_us // 1000} ms", direction, *figures)
    return result


def delay_s(elapsed_s: float, cpu_s: float, old: float, new: float) -> float:
    """When the share must have changed, all at once, to give this CPU time: ``cpu = old d + new (elapsed - d)``.

    CPU time that other work took away counts as delay: with the ordinary weight, on a busy machine, it is most of it.
    """
    return (new * elapsed_s - cpu_s) / (new - old)


def burst_table() -> Table:
    """Spurts of 10 ms CPU time, 25 ms apart, at share 0.4."""
    result = table("Spurts of 10 ms of CPU time, 25 ms apart, at share 0.4", "burst", "mean ms", "95 % ms", "throttled")
    for burst_us in (0, 4_000):
        with opened(burst_us=burst_us) as shares:
            shares.set_share("worker", 0.4)
            command = [sys.executable, "-c", SPURT, shares.group("worker"), str(SPURTS)]
            printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout  # noqa: S603
            times_ms = 1000 * np.array(printed.split(), dtype=float)
            used = shares.usage("worker")
            result.add_row(
                f"{burst_us // 1000} ms",
                f"{times_ms.mean():.1f}",
                f"{np.percentile(times_ms, 95):.1f}",
                f"{used.throttled_periods / used.periods:.0%}",
            )
    return result


def weight_table() -> Table:
    """What two operators of share 0.7 get while others want the CPUs too."""
    result = table(
        f"Two operators with share 0.7 each, against {COMPETITORS} processes that spin outside",
        "weight of the application",
        "given to each",
    )
    operators = ("parser", "matcher")
    with opened(operators) as shares, ExitStack() as running:
        for group in (*map(shares.group, operators), *[""] * COMPETITORS):
            running.enter_context(spinning(group))
        for operator in operators:
            shares.set_share(operator, 0.7)
        for weight, what in ((shares.weight, "of one process"), (len(operators) * shares.weight, "of its operators")):
            weigh(shares, operators[0], weight)
            before = [shares.usage(operator).cpu_s for operator in operators]
            time.sleep(KEPT_S)
            after = [shares.usage(operator).cpu_s for operator in operators]
            result.add_row(what, f"{(sum(after) - sum(before)) / KEPT_S / len(operators):.2f}")
    return result


if __name__ == "__main__":
    main()
