"""Benchmark the simulator.

    benchmarks/bench_simulate.py [--quick]

A tuple-hop is one tuple served by one operator. Goal: 5 million of them per second on one core for the log-analysis
pipeline, drawing the demands included. Ciw simulates the same queues with the same arrivals and demands in the same
process; both must find the same mean response time. Times are CPU seconds, the best of several runs. ``--quick``
simulates a tenth of the arrivals.
"""

from __future__ import annotations

import argparse
from itertools import cycle, pairwise
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.table import Table

from mead.queueing import MAP, Edge
from mead.simulator import Simulation, demands_s
from mead.values import Batches, Operator, Pipeline, Requirement, Resources
from mead.workload import Trace

if TYPE_CHECKING:
    from benchmarks.common import best_s, fresh_process_table
else:  # run as a script, whose folder is where its imports come from
    from common import best_s, fresh_process_table

ARRIVALS = 1_000_000
CIW_ARRIVALS = 20_000
RATE_PER_S = 330.0
CONTROLLED_S = 1_800

FIRST_RUN = """
import time
started = time.process_time()
from mead.values.pipeline import Operator, Pipeline
from mead.simulator.simulation import Simulation
from mead.workload import Trace
imported = time.process_time()
Simulation(Pipeline("one", [Operator("a", 1.0)]), Trace.from_iats_s([1.0, 1.0]), seed=1).advance(1.0)
print(imported - started, time.process_time() - imported)
"""

console = Console(width=110)


def log_analysis(batches: Batches | None = None) -> Pipeline:
    """The MEAD paper's application."""
    demands = {"parser": 0.0001, "counter": 0.0001, "matcher": 0.0015}
    return Pipeline(
        "log-analysis",
        [Operator(name, demand_s, batches=batches) for name, demand_s in demands.items()],
        [Edge("parser", "counter"), Edge("parser", "matcher")],
        [Requirement("parser>matcher", bound_s=0.3)],
    )


def chain(*demands: float, replicas: int = 1) -> Pipeline:
    """Operators a, b, c ... one behind the other."""
    operators = [Operator(name, d, max_replicas=replicas) for name, d in zip("abcdefghijkl", demands, strict=False)]
    return Pipeline("chain", operators, [Edge(a.name, b.name) for a, b in pairwise(operators)])


def loop() -> Pipeline:
    """A quarter of the tuples goes round once more."""
    return Pipeline("loop", [Operator("a", 0.001), Operator("b", 0.001)], [Edge("a", "b"), Edge("b", "a", 0.25)])


def drained(pipeline: Pipeline, trace: Trace) -> Simulation:
    """A whole run."""
    simulation = Simulation(pipeline, trace, seed=1)
    simulation.drain()
    return simulation


def hops(simulation: Simulation) -> int:
    """Tuples served, over all operators: when nothing is left inside, all that were sent."""
    return sum(simulation.sent.values())


def bench_speed(arrivals: int) -> None:
    """Tuple-hops per second of several pipelines."""
    trace = Trace.from_iats_s(MAP.two_state(RATE_PER_S, 50.0).sample(arrivals, np.random.default_rng(1)))
    table = Table(title=f"{arrivals:,} bursty arrivals, {RATE_PER_S:g}/s", title_justify="left")
    for column in ("pipeline", "tuple-hops", "CPU s", "million hops/s"):
        table.add_column(column, justify="left" if column == "pipeline" else "right")
    pipelines = {
        "log analysis (goal: 5)": log_analysis(),
        "log analysis, micro-batches": log_analysis(Batches(overhead_s=0.05)),
        "one operator": chain(0.002),
        "one operator of 8 replicas": chain(0.016, replicas=8),
        "ten operators in a row": chain(*[0.002] * 10),
        "a loop": loop(),
    }
    for name, pipeline in pipelines.items():
        served = hops(drained(pipeline, trace))
        seconds = best_s(lambda p=pipeline: drained(p, trace))  # type: ignore[misc]
        table.add_row(name, f"{served:,}", f"{seconds:.2f}", f"{served / seconds / 1e6:.1f}")
    console.print(table)


def bench_control() -> None:
    """Half an hour under a controller that looks, and changes a share, every second."""
    trace = Trace.from_iats_s(
        MAP.two_state(RATE_PER_S, 50.0).sample(int(RATE_PER_S * CONTROLLED_S), np.random.default_rng(1))
    )
    pipeline = log_analysis()

    def controlled() -> None:
        simulation = Simulation(pipeline, trace, seed=1)
        for second, share in zip(range(1, CONTROLLED_S), cycle((0.7, 0.85, 1.0)), strict=False):
            simulation.observe(float(second))
            simulation.apply(simulation.in_force.with_("matcher", Resources(share)))

    def undisturbed() -> None:
        Simulation(pipeline, trace, seed=1).advance(float(CONTROLLED_S))

    with_control, without = best_s(controlled), best_s(undisturbed)
    each_us = (with_control - without) / CONTROLLED_S * 1e6
    console.print(
        f"{CONTROLLED_S} s of log analysis: {without:.2f} CPU s; observed and changed every second: "
        f"{with_control:.2f} CPU s, {each_us:.0f} us more per round"
    )


def bench_ciw(arrivals: int) -> None:
    """A tandem of two operators beside Ciw."""
    try:
        import ciw
    except ImportError:
        console.print("Ciw is not installed, so there is nothing to compare with")
        return
    pipeline = chain(0.002, 0.0015)
    trace = Trace.from_iats_s(np.random.default_rng(1).exponential(1 / RATE_PER_S, arrivals - 1))
    demands = [demands_s(pipeline, name, arrivals, seed=1).tolist() for name in "ab"]
    iats = [1.0, *np.diff(trace.times_s).tolist()]  # Ciw's first arrival is one IAT after the start
    means: dict[str, float] = {}

    def theirs() -> None:
        network = ciw.create_network(
            arrival_distributions=[ciw.dists.Sequential(iats), None],
            service_distributions=[ciw.dists.Sequential(one) for one in demands],
            number_of_servers=[1, 1],
            routing=[[0.0, 1.0], [0.0, 0.0]],
        )
        simulation = ciw.Simulation(network)
        simulation.simulate_until_max_time(float(np.sum(iats)) + 1e-3)
        records = simulation.get_all_records()
        entered = {r.id_number: r.arrival_date for r in records if r.node == 1}
        means["Ciw"] = float(np.mean([r.exit_date - entered[r.id_number] for r in records if r.node == 2]))

    def ours() -> None:
        means["this simulator"] = float(drained(pipeline, trace).responses("a>b").response_s.mean())

    seconds = {"Ciw": best_s(theirs, 2), "this simulator": best_s(ours)}
    table = Table(title=f"The same tandem of two operators, {arrivals:,} Poisson arrivals", title_justify="left")
    for column in ("simulator", "CPU s", "hops/s", "ratio", "mean response, s"):
        table.add_column(column, justify="left" if column == "simulator" else "right")
    for name, spent_s in seconds.items():
        ratio = seconds["Ciw"] / spent_s
        table.add_row(name, f"{spent_s:.4f}", f"{2 * arrivals / spent_s:,.0f}", f"{ratio:.0f}x", f"{means[name]:.6f}")
    console.print(table)


def bench_compile() -> None:
    """What the kernel costs a fresh process."""
    console.print(fresh_process_table("Fresh process, CPU s", FIRST_RUN, "imports", "first run"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="simulate a tenth of the arrivals")
    scale = 0.1 if parser.parse_args().quick else 1.0
    bench_speed(int(ARRIVALS * scale))
    bench_control()
    bench_ciw(int(CIW_ARRIVALS * scale))
    bench_compile()
