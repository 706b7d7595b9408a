"""Benchmark the history of a long run: its growth on disk, and the memory of a report on it.

    benchmarks/bench_history.py [--days 1]

Twenty minutes of the log analysis under ``adaptive`` in virtual time, a round per second, are recorded again and again
until the run has lasted so many days. The size of the file is printed for every day. Then `mead report` reads the run
in a process of its own.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console

from mead.config import read_pipeline
from mead.demo import pipeline_path
from mead.history import History
from mead.policies.adaptive.policy import AdaptiveOptions
from mead.queueing import MAP
from mead.simulator import run
from mead.values import Round
from mead.workload import Trace

if TYPE_CHECKING:
    from benchmarks.common import table
else:  # run as a script, whose folder is where its imports come from
    from common import table

DAY_S, REPEATED_S = 86_400, 1_200
PIPELINE = read_pipeline(pipeline_path()).pipeline
REPORT = """
import re, sys, time
from mead.cli import app
try:
    app(["report", *sys.argv[1:]])
finally:
    peak = re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read())
    print(peak[1], time.process_time(), file=sys.stderr)
"""


def main(days: float) -> None:
    """Print the growth, and what a report takes."""
    iats_s = MAP.two_state(rate_per_s=250.0, idc=200.0).sample(250 * REPEATED_S, np.random.default_rng(1))
    rounds = run(PIPELINE, Trace.from_iats_s(iats_s), AdaptiveOptions(), seed=1).rounds
    growth = table("A history at one round per second", "hours", "MB", "MB a day since then", "rows of rounds")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "history.sqlite"
        size, before_s = 0.0, 0.0
        started = time.process_time()
        with History.open(file) as history:
            record = history.begin("log-analysis", PIPELINE, policy="adaptive", started="2026-01-01T12:00:00+00:00")
            for time_s, this in _repeated(rounds, days * DAY_S):
                record(this)
                if time_s % (DAY_S / 4) == 0 or time_s == days * DAY_S:
                    mb = sum(part.stat().st_size for part in Path(folder).iterdir()) / 1e6
                    count = len(history.rounds(1))
                    growth.add_row(
                        f"{time_s / 3600:.1f}",
                        f"{mb:.1f}",
                        f"{(mb - size) / (time_s - before_s) * DAY_S:.1f}",
                        f"{count:,}",
                    )
                    size, before_s = mb, time_s
        spent_s = time.process_time() - started
        Console().print(growth)
        print(f"CPU time of the writer: {1000 * spent_s / (days * DAY_S):.2f} ms per round")
        for words in (["--json"], ["-o", str(Path(folder) / "report.html")]):
            megabytes, cpu_s = _report(file, words)
            print(f"mead report {words[0]}: {megabytes:.0f} MB at its peak, {cpu_s:.1f} s of CPU time")


def _repeated(rounds: Sequence[Round], until_s: float) -> Iterator[tuple[float, Round]]:
    """The same rounds one after the other, as one run."""
    time_s = 0.0
    while True:
        for this in rounds:
            time_s += 1.0
            if time_s > until_s:
                return
            seen = this.observation
            yield time_s, replace(this, time_s=time_s, observation=seen and replace(seen, time_s=time_s))


def _report(file: Path, words: Sequence[str]) -> tuple[float, float]:
    """Peak memory in MB and CPU seconds of `mead report`."""
    # A child's usage as its parent sees it would include the parent's own memory at the fork.
    command = [sys.executable, "-c", REPORT, str(file), *words]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stderr  # noqa: S603 - ours
    kilobytes, cpu_s = said.split()[-2:]
    return int(kilobytes) / 1024, float(cpu_s)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--days", type=float, default=1.0, help="length of the run")
    main(parser.parse_args().days)
