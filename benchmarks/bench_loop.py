"""Benchmark the control loop without its policy, and the history.

    benchmarks/bench_loop.py

Half an hour of the log-analysis pipeline in virtual time, a round per second, under a policy that keeps everything as
it is. Times are CPU microseconds per round, the best of several runs. A live loop at a round per second spends a
ten-thousandth of a core per 100 us.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.table import Table

from mead import simulator as experiment
from mead.history import History
from mead.queueing import MAP, Edge
from mead.session import Session
from mead.simulator import Simulation
from mead.values import Knowledge, Observation, Operator, Pipeline, Plan, Requirement, Round
from mead.workload import Trace

if TYPE_CHECKING:
    from benchmarks.common import best_s, table
else:  # run as a script, whose folder is where its imports come from
    from common import best_s, table

DURATION_S = 1_800
RUNS = 5
PIPELINE = Pipeline(
    "log-analysis",
    [Operator("parser", 0.0001), Operator("counter", 0.0001), Operator("matcher", 0.0015)],
    [Edge("parser", "counter"), Edge("parser", "matcher")],
    [Requirement("parser>matcher", bound_s=0.3)],
)


class Keep:
    """A policy that costs nothing."""

    name = "keep"
    interval_s = 1.0

    def analyze(self, observation: Observation, knowledge: Knowledge) -> None:
        """Find out nothing."""

    def plan(self, observation: Observation, analysis: None, knowledge: Knowledge) -> Plan:
        """Keep the allocation."""
        del analysis, knowledge
        return Plan.keep(observation.allocation, "nothing is measured here but the loop")


def main() -> None:
    """Print the tables."""
    arrivals = MAP.two_state(330.0, idc=200.0).sample(330 * DURATION_S, np.random.default_rng(1))
    trace = Trace.from_iats_s(arrivals)
    console = Console()
    console.print(loop_table(trace))
    run = experiment.run(PIPELINE, trace, Keep(), seed=1)
    console.print(history_table(run.rounds))


def loop_table(trace: Trace) -> Table:
    """The simulator alone, and with the loop around it."""
    result = table("A round of the control loop", "what", "CPU us/round")

    def observe() -> None:
        simulation = Simulation(PIPELINE, trace, seed=1)
        for second in range(1, DURATION_S + 1):
            simulation.observe(float(second))

    def control() -> None:
        Session(PIPELINE, Keep()).simulate(Simulation(PIPELINE, trace, seed=1), Knowledge(PIPELINE), DURATION_S)

    observed_us, controlled_us = (best_s(work, RUNS) / DURATION_S * 1e6 for work in (observe, control))
    result.add_row("simulate and read", f"{observed_us:.0f}")
    result.add_row("the same under control", f"{controlled_us:.0f}")
    result.add_row("the loop: check, learn demands, plan nothing, record", f"{controlled_us - observed_us:.0f}")
    return result


def history_table(rounds: list[Round]) -> Table:
    """Rounds into a file, and out of it again."""
    result = table("The history", "rounds per commit", "CPU us/round", "bytes/round", "CPU ms to read all decisions")
    for batch in (1, 10, 100):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "history.sqlite"

            def write(path: Path = path, batch: int = batch) -> None:
                path.unlink(missing_ok=True)
                with History.open(path) as history:
                    record = history.begin("run", PIPELINE, policy="keep", started="", batch=batch)
                    for this in rounds:
                        record(this)

            def read(path: Path = path) -> None:
                with History.read(path) as history:
                    history.decisions(1)

            cells = (
                best_s(write, RUNS) / len(rounds) * 1e6,
                path.stat().st_size / len(rounds),
                best_s(read, RUNS) * 1e3,
            )
            result.add_row(str(batch), *(f"{cell:.0f}" for cell in cells))
    return result


if __name__ == "__main__":
    main()
