"""Benchmark the live page: CPU that it takes from the run.

    benchmarks/bench_page.py

Twenty minutes of the log analysis in virtual time, a round per second. Times are CPU time, the best of several runs.
Work in the process of the run comes first: the thread that watches the run adds rounds, and the server's thread answers
requests. The models run in a process of the lowest priority.
"""

from __future__ import annotations

import json
import tracemalloc
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console

from mead.config import read_pipeline
from mead.demo import pipeline_path
from mead.monitor import BatchResponses, PathMonitor
from mead.policies import make_policy
from mead.policies.baselines.threshold import ThresholdOptions
from mead.queueing import MAP
from mead.reports.live import Board, list_decisions
from mead.session import RunFacts
from mead.simulator import run
from mead.web import answers
from mead.web.prometheus.exposition import exposition
from mead.web.question import Question
from mead.workload import Trace

if TYPE_CHECKING:
    from benchmarks.common import best_s, table
else:  # run as a script, whose folder is where its imports come from
    from common import best_s, table

DURATION_S = 1200
PIPELINE = read_pipeline(pipeline_path()).pipeline


def main() -> None:
    """Print two tables."""
    iats_s = MAP.two_state(rate_per_s=250.0, idc=200.0).sample(250 * DURATION_S, np.random.default_rng(1))
    policy = make_policy(ThresholdOptions(interval_s=1.0))
    rounds = run(PIPELINE, Trace.from_iats_s(iats_s), policy, seed=1).rounds
    facts = RunFacts(PIPELINE, "threshold", "act", "simulator", "", "2026-01-01T12:00:00+00:00", 1.0)
    monitors = {path: PathMonitor(()) for path in PIPELINE.paths}
    for monitor in monitors.values():
        for done_s in range(DURATION_S):
            monitor.add(BatchResponses(float(done_s), 250, 0.5, np.linspace(1.0, 0.0, 17)))

    def filled() -> Board:
        board = Board(facts, wall_s=lambda: 0.0)
        for this in rounds:
            board.add(this, monitors)
        return board

    tracemalloc.start()
    board = filled()
    kept_bytes = tracemalloc.get_traced_memory()[0] / len(rounds)
    tracemalloc.stop()
    frames = board.since(0)
    console = Console()
    ours = table("In the process of the run", "", "CPU time in ms")
    ours.add_row("adding a round", f"{best_s(filled, 3) / len(rounds) * 1e3:.3f}")
    ours.add_row("sending a round to a browser", f"{best_s(lambda: json.dumps(frames[-1].as_json())) * 1e3:.3f}")
    ours.add_row("a scrape of all metrics", f"{best_s(lambda: exposition(board)) * 1e3:.1f}")
    ours.add_row(
        "all decisions with their effects",
        f"{best_s(lambda: list_decisions(frames, changes_only=True)) * 1e3:.1f}",
    )
    console.print(ours)
    console.print(f"A round in the ring takes {kept_bytes / 1024:.1f} KiB; {len(rounds):,} rounds were kept.")
    question = Question(250.0, 200.0, 1.0, PIPELINE.most)
    theirs = table("In the process of the models", "", "CPU time in s")
    theirs.add_row("a prediction", f"{best_s(lambda: answers.prediction(PIPELINE, question), 2):.2f}")
    theirs.add_row("the frontier of nine bounds", f"{best_s(lambda: answers.frontier(PIPELINE, question), 1):.2f}")
    theirs.add_row("a fit of 20,000 arrivals", f"{best_s(lambda: answers.workload(iats_s), 2):.2f}")
    console.print(theirs)


if __name__ == "__main__":
    main()
