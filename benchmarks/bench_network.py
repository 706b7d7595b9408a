"""Benchmark the network solver: errors against simulation, and speed.

    benchmarks/bench_network.py [--quick]

Tandems of two and three operators and parser -> {counter, matcher}, Erlang-2 service, utilizations up to .9 in all
orders, under Poisson, renewal and bursty arrivals; then filters, flat maps, merging copies and other services. Goal:
path mean within 10 %, path p95 within 15 %, three operators under a 16-state MAP in about 10 ms. line-solver's
decompositions are run beside it. The fits of Bellcore windows need the trace in ../shared/data; without it they are
left out.

What is simulated is corrected by what is known: the bottleneck fed by the source itself, with the same arrivals and
service times, has an exact solution, and its deviation from that is taken off (a control variate). ``--quick``
simulates a quarter of the tuples, and leaves line-solver out.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import time
from dataclasses import dataclass
from itertools import product
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from mead.arrays import FloatArray
from mead.queueing import MAP, PH, Network, map_ph_1, solve_network

if TYPE_CHECKING:
    from benchmarks.common import best_s
    from benchmarks.network_simulation import Tree, Truth, graphs, simulated_graph, simulated_ways, sources, stable
else:  # run as a script, whose folder is where its imports come from
    from common import best_s
    from network_simulation import Tree, Truth, graphs, simulated_graph, simulated_ways, sources, stable

TUPLES, RUNS = 1_000_000, 8
ANCHORED = ("two-state, IDC 20", "Bellcore by KPC, 4 states")
ANCHORED_LOADS = ((0.5, 0.9), (0.9, 0.5), (0.7, 0.7), (0.9, 0.7), (0.7, 0.9))

console = Console(width=150)


def table(title: str, *columns: str) -> Table:
    """A table whose first column is text and whose others are figures."""
    result = Table(*columns[:1], title=title, title_justify="left")
    for column in columns[1:]:
        result.add_column(column, justify="right")
    return result


def spread(errors: list[float]) -> str:
    """Median of the absolute errors, and the lowest and highest error."""
    return f"{median(abs(e) for e in errors):.1f}  ({min(errors):+.1f} .. {max(errors):+.1f})"


@dataclass(frozen=True)
class Case:
    """One path of one tree under one source."""

    source: str
    tree: Tree
    error: FloatArray
    """Errors of mean and p95, in percent."""
    noise: FloatArray
    operators: list[float]
    """Errors of the means of its operators, in percent."""


def bench_trees(tuples: int, runs: int) -> dict[tuple[str, Tree], list[float]]:
    """Tandems and forks: path errors and operator errors, by source, by order of speeds, and the worst.

    Returns the simulated mean of each operator.
    """
    by_source = table(
        f"Tandems and forks: errors in %, median of the absolute ones (lowest .. highest); simulation of {runs} x "
        f"{tuples:,} tuples, largest half width of its 95 % confidence intervals in brackets",
        *("arrivals", "states", "IDC", "path mean", "path p95", "operator mean", "simulation, mean", "p95"),
    )
    cases: list[Case] = []
    simulated: dict[tuple[str, Tree], list[float]] = {}
    for name, arrivals in track(sources().items(), "simulating", transient=True):
        here: list[Case] = []
        for tree, truth in simulated_ways(arrivals, tuples, runs):
            solution = solve_network(tree.network, arrivals)
            reached = {-1: 0.0} | {i: float(way.value[0]) for i, way in truth.items()}
            means_s = [reached[i] - reached[parent] for i, parent in enumerate(tree.parents)]
            single = [
                100 * (stable(solution.operators[f"o{i}"]).mean_s / mean_s - 1) for i, mean_s in enumerate(means_s)
            ]
            for leaf in tree.leaves:
                path = solution.paths[">".join(f"o{i}" for i in tree.way(leaf))]
                mine = [single[i] for i in tree.way(leaf)]
                here.append(Case(name, tree, truth[leaf].error(path), truth[leaf].noise, mine))
            simulated[name, tree] = means_s
        by_source.add_row(*(name, str(arrivals.states), f"{arrivals.idc_limit:.0f}"), *errors_of(here), *noise_of(here))
        cases += here
    console.print(by_source)
    by_kind = table("The same by order of speeds, %", "network", "paths", "path mean", "path p95", "operator mean")
    for kind in sorted({case.tree.kind for case in cases}):
        alike = [case for case in cases if case.tree.kind == kind]
        by_kind.add_row(kind, str(len(alike)), *errors_of(alike))
    by_kind.add_row("all", str(len(cases)), *errors_of(cases))
    console.print(by_kind)
    for k, title, goal in ((0, "mean", 10), (1, "p95", 15)):
        worst = max(cases, key=lambda case: abs(case.error[k]))
        met = sum(abs(case.error[k]) <= goal for case in cases)
        console.print(
            f"path {title}: {met} of {len(cases)} paths within {goal} %; worst {worst.error[k]:+.1f} % "
            f"(simulation +-{worst.noise[k]:.1f} %): {worst.source}, utilizations {worst.tree.loads}"
        )
    console.print()
    return simulated


def errors_of(cases: list[Case]) -> list[str]:
    """Errors of path means, path p95s and operator means."""
    paths = [spread([float(case.error[k]) for case in cases]) for k in (0, 1)]
    return [*paths, spread([error for case in cases for error in case.operators])]


def noise_of(cases: list[Case]) -> list[str]:
    """The widest confidence intervals of mean and p95."""
    return [f"[{max(case.noise[k] for case in cases):.1f}]" for k in (0, 1)]


def bench_graphs(tuples: int, runs: int) -> None:
    """Filters, flat maps, merges and services of different variability."""
    chosen = {name: arrivals for name, arrivals in sources().items() if name in ("Poisson", "two-state, IDC 20")}
    result = table(
        f"Other networks: error of the worst path in %, in brackets the half width of the simulation's confidence "
        f"interval ({runs} x {tuples:,} tuples, not corrected)",
        *("network", *(f"{name}, {what}" for name in chosen for what in ("mean", "p95"))),
    )
    for title, network in track(graphs().items(), "simulating", transient=True):
        row = []
        for arrivals in chosen.values():
            drawn = [simulated_graph(network, arrivals, tuples, seed) for seed in range(runs)]
            solution = solve_network(network, arrivals)
            truths = {path: Truth.of([run[path] for run in drawn]) for path in solution.paths}
            errors = {path: truth.error(solution.paths[path]) for path, truth in truths.items()}
            for k in (0, 1):
                worst = max(errors, key=lambda path: abs(errors[path][k]))
                row.append(f"{errors[worst][k]:+.1f} [{truths[worst].noise[k]:.1f}]")
        result.add_row(title, *row)
    console.print(result)


def bench_anchor(simulated: dict[tuple[str, Tree], list[float]]) -> None:
    """line-solver's decompositions of tandems of two."""
    try:
        import line_solver as line
    except ImportError:
        console.print("line-solver is not installed: left out")
        return
    result = table(
        "Tandems of two, error of the path mean / of the second operator's mean in %, and processor time in ms; "
        "fed twice: the source at both operators",
        *("arrivals, utilizations", "ours", "ms", "fed twice", "dec.source", "ms", "dec.mmap", "ms"),
    )
    processes = sources()
    for name, loads in product(ANCHORED, ANCHORED_LOADS):
        tree, arrivals = Tree((-1, 0), loads), processes[name]
        truth_s = simulated[name, tree]
        ours_ms = 1e3 * best_s(lambda n=tree.network, a=arrivals: solve(n, a))  # type: ignore[misc]
        ours = [stable(queue).mean_s for queue in solve_network(tree.network, arrivals).operators.values()]
        fed = [stable(map_ph_1(arrivals, PH.erlang(2, load))).mean_s for load in loads]
        row = [total_and_second(ours, truth_s), f"{ours_ms:.1f}", total_and_second(fed, truth_s)]
        for method in ("dec.source", "dec.mmap"):
            model = line_tandem(line, arrivals, loads)
            started = time.process_time()
            with contextlib.redirect_stdout(io.StringIO()):
                answer = line.SolverMAM(model, method=method).getAvgTable()
            elapsed_ms = 1e3 * (time.process_time() - started)
            row += [total_and_second([float(t) for t in answer["RespT"]][1:], truth_s), f"{elapsed_ms:.0f}"]
        result.add_row(f"{name}, {loads}", *row)
    console.print(result)


def total_and_second(predicted_s: list[float], truth_s: list[float]) -> str:
    """Errors of the path and of its second operator."""
    return f"{100 * (sum(predicted_s) / sum(truth_s) - 1):+.1f} / {100 * (predicted_s[1] / truth_s[1] - 1):+.1f}"


def line_tandem(line, arrivals: MAP, loads: tuple[float, ...]):  # type: ignore[no-untyped-def]
    """The tandem as line-solver wants it."""
    model = line.Network("tandem")
    source, sink = line.Source(model, "source"), line.Sink(model, "sink")
    queues = [line.Queue(model, f"o{i}", line.SchedStrategy.FCFS) for i in range(len(loads))]
    tuples = line.OpenClass(model, "tuples")
    source.setArrival(tuples, line.MAP(np.array(arrivals.D0), np.array(arrivals.D1)))
    for queue, load in zip(queues, loads, strict=True):
        queue.setService(tuples, line.Erlang.fitMeanAndOrder(load, 2))
    model.link(line.Network.serialRouting(source, *queues, sink))
    return model


def solve(network: Network, arrivals: MAP, percents: tuple[float, ...] = ()) -> list[float]:
    """The means of all operators and paths, and the percentiles of all paths."""
    solution = solve_network(network, arrivals)
    means_s = [stable(queue).mean_s for queue in (*solution.operators.values(), *solution.paths.values())]
    return means_s + [stable(path).percentile_s(p) for path in solution.paths.values() for p in percents]


def bench_speed() -> None:
    """How long three operators take."""
    result = table(
        "Three Erlang-2 operators, ms of one processor: means of all operators and paths / with p95 of all paths",
        *("arrivals", "states", "tandem .9 .7 .5", "tandem .5 .7 .9", "parser .5 -> {counter .3, matcher .8}"),
    )
    trees = [Tree((-1, 0, 1), (0.9, 0.7, 0.5)), Tree((-1, 0, 1), (0.5, 0.7, 0.9)), Tree((-1, 0, 0), (0.5, 0.3, 0.8))]
    for name, arrivals in sources().items():
        if name in ("Poisson", "two-state, IDC 20", "KPC, 8 states", "KPC, 16 states"):
            row = []
            for network in (tree.network for tree in trees):
                means_ms = 1e3 * best_s(lambda n=network, a=arrivals: solve(n, a))  # type: ignore[misc]
                both_ms = 1e3 * best_s(lambda n=network, a=arrivals: solve(n, a, (95.0,)))  # type: ignore[misc]
                row.append(f"{means_ms:.1f} / {both_ms:.1f}")
            result.add_row(name, str(arrivals.states), *row)
    console.print(result)


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a quarter of the simulation, no line-solver")
    quick = parser.parse_args().quick
    tuples, runs = (TUPLES // 2, RUNS // 2) if quick else (TUPLES, RUNS)
    bench_speed()
    simulated = bench_trees(tuples, runs)
    bench_graphs(tuples, runs)
    if not quick:
        bench_anchor(simulated)


if __name__ == "__main__":
    main()
