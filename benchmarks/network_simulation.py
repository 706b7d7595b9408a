"""Networks to measure, arrivals to measure them under, and the simulation that tells the truth about them.

The simulation shares nothing with the models but the sampling of arrivals and services: time stamps, sorting, and
Lindley's recursion. ``bench_network.py`` runs it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise, product
from pathlib import Path

import numpy as np

from mead.arrays import FloatArray
from mead.queueing import (
    MAP,
    PH,
    Edge,
    Network,
    Operator,
    QueueSolution,
    ResponseTime,
    Unstable,
    fit_calibrated,
    map_ph_1,
)
from mead.workload import read_trace

VECTORS = Path(__file__).parents[1] / "tests" / "vectors" / "mapph1.json"
BELLCORE = Path(__file__).parents[2] / "shared" / "data" / "bc-paug89.parquet"
LOADS = (0.3, 0.5, 0.7, 0.9)
THREE = [(0.9, 0.9, 0.9), (0.9, 0.7, 0.5), (0.5, 0.7, 0.9), (0.7, 0.9, 0.7), (0.9, 0.5, 0.9), (0.3, 0.9, 0.5)]
THREE += [(0.7, 0.7, 0.7), (0.5, 0.5, 0.5)]
FORKS = [(0.5, 0.3, 0.9), (0.9, 0.3, 0.5), (0.7, 0.7, 0.7), (0.3, 0.5, 0.9)]
WARM_UP = 0.05


@dataclass(frozen=True)
class Tree:
    """Erlang-2 operators, each behind one other or (-1) at the source, with their utilizations at rate 1."""

    parents: tuple[int, ...]
    loads: tuple[float, ...]

    def way(self, operator: int) -> list[int]:
        """The operators from the source to this one."""
        return [*(self.way(self.parents[operator]) if self.parents[operator] >= 0 else []), operator]

    @property
    def leaves(self) -> list[int]:
        """The ends of the paths."""
        return [i for i in range(len(self.loads)) if i not in self.parents]

    @property
    def network(self) -> Network:
        """The same for the model."""
        operators = [Operator(f"o{i}", PH.erlang(2, load)) for i, load in enumerate(self.loads)]
        return Network(operators, [Edge(f"o{p}", f"o{i}") for i, p in enumerate(self.parents) if p >= 0])

    @property
    def kind(self) -> str:
        """How the operators of the tree compare."""
        if self.parents == (-1, 0, 0):
            return "parser -> {counter, matcher}"
        ordered = sorted(self.loads)
        if ordered[-1] == ordered[-2]:
            return f"tandem of {len(self.loads)}, slowest two equal"
        place = {0: "first", len(self.loads) - 1: "last"}.get(self.loads.index(ordered[-1]), "in the middle")
        return f"tandem of {len(self.loads)}, slowest {place}"


TREES = [Tree((-1, 0), loads) for loads in product(LOADS, LOADS)]
TREES += [Tree((-1, 0, 1), loads) for loads in THREE] + [Tree((-1, 0, 0), loads) for loads in FORKS]


def sources() -> dict[str, MAP]:
    """Arrivals of rate 1, from regular to very bursty."""
    result = {"Poisson": MAP.poisson(1.0)}
    result |= {f"two-state, IDC {idc:g}": MAP.two_state(1.0, idc) for idc in (5.0, 20.0, 100.0, 1000.0)}
    titles = {
        "erlang2_renewal": "renewal, SCV .5",
        "hyper_renewal_scv4": "renewal, SCV 4",
        "hyper_renewal_scv10": "renewal, SCV 10",
        "mmpp2_vstrong": "MMPP(2)",
        "kpc4_hh": "KPC, 4 states",
        "kpc8": "KPC, 8 states",
        "kpc16": "KPC, 16 states",
        "bc50k_kpc4_sec": "Bellcore by KPC, 4 states",
        "bc25k_kpc8_sec": "Bellcore by KPC, 8 states",
        "bc25k_kpc16_sec": "Bellcore by KPC, 16 states",
    }
    for case in json.loads(VECTORS.read_text())["cases"]:
        if case["arrival"] in titles:
            result[titles[case["arrival"]]] = MAP(case["D0"], case["D1"]).with_rate(1.0)
    if BELLCORE.exists():
        iats = read_trace(BELLCORE).iats_s
        for start in (150_000, 700_000):
            fitted = fit_calibrated(iats[start : start + 50_000], best=1, seed=0).models[0].map
            result[f"Bellcore fit, tuple {start:,} on"] = fitted.with_rate(1.0)
    return result


def stable(solution: QueueSolution) -> ResponseTime:
    """The response time of what is known to have one."""
    if isinstance(solution, Unstable):
        raise TypeError(f"a benchmark queue is unstable: {solution}")
    return solution


def served(arrival_s: FloatArray, service_s: FloatArray) -> FloatArray:
    """Departures of a queue, first come first served: ``D_n = max over j of (A_j + S_j + ... + S_n)``."""
    done = np.cumsum(service_s)
    return np.asarray(done + np.maximum.accumulate(arrival_s - (done - service_s)))


def figures(response_s: FloatArray) -> FloatArray:
    """Mean and p95 after the warm-up."""
    warm = response_s[int(WARM_UP * response_s.size) :]
    rank = int(0.95 * warm.size)
    return np.array([warm.mean(), np.partition(warm, rank)[rank]])


@dataclass(frozen=True)
class Truth:
    """Simulated mean and p95, row by row over the runs, with half the width of a 95 % confidence interval."""

    value: FloatArray
    half_width: FloatArray

    @classmethod
    def of(cls, runs: list[FloatArray]) -> Truth:
        """Sum up runs, one row per run."""
        table = np.array(runs)
        return cls(table.mean(axis=0), 1.96 * table.std(axis=0, ddof=1) / np.sqrt(len(runs)))

    def error(self, solution: QueueSolution) -> FloatArray:
        """Errors of a prediction in mean and p95, in percent."""
        answer = stable(solution)
        return np.asarray(100 * (np.array([answer.mean_s, answer.percentile_s(95)]) / self.value - 1))

    @property
    def noise(self) -> FloatArray:
        """The half width in percent."""
        return np.asarray(100 * self.half_width / self.value)


def simulated_ways(arrivals: MAP, tuples: int, runs: int) -> Iterator[tuple[Tree, dict[int, Truth]]]:
    """For every tree the response from the source to each of its operators, corrected by the exact bottleneck."""
    exact = {load: stable(map_ph_1(arrivals, PH.erlang(2, load))) for load in LOADS}
    known = {load: np.array([queue.mean_s, queue.percentile_s(95)]) for load, queue in exact.items()}
    collected: list[dict[int, list[FloatArray]]] = [{i: [] for i in range(len(tree.loads))} for tree in TREES]
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        source_s = np.cumsum(arrivals.sample(tuples, rng))
        unit = [PH.erlang(2, 1.0).sample(tuples, rng) for _ in range(3)]
        alone = {
            (i, load): known[load] - figures(served(source_s, load * unit[i]) - source_s)
            for i, load in product(range(3), LOADS)
        }
        for tree, answers in zip(TREES, collected, strict=True):
            left: dict[int, FloatArray] = {-1: source_s}
            for i, (parent, load) in enumerate(zip(tree.parents, tree.loads, strict=True)):
                left[i] = served(left[parent], load * unit[i])
                slowest = max(tree.way(i), key=tree.loads.__getitem__)
                answers[i].append(figures(left[i] - source_s) + alone[slowest, tree.loads[slowest]])
    for tree, answers in zip(TREES, collected, strict=True):
        yield tree, {i: Truth.of(rows) for i, rows in answers.items()}


def simulated_graph(network: Network, arrivals: MAP, tuples: int, seed: int) -> dict[str, FloatArray]:
    """Mean and p95 of every path of any network: filters and flat maps draw how many tuples go on, merges sort."""
    rng = np.random.default_rng(seed)
    source_s = np.cumsum(arrivals.sample(tuples, rng))
    left: dict[str, dict[str, tuple[FloatArray, FloatArray]]] = {}
    for name in network.order:
        flows = {} if network.into(name) else {name: (source_s, source_s)}
        for edge in network.into(name):
            for way, (at_s, entered_s) in left[edge.source].items():
                copies = (edge.selectivity + rng.random(at_s.size)).astype(np.int64)
                flows[f"{way}>{name}"] = (np.repeat(at_s, copies), np.repeat(entered_s, copies))
        arrival_s = np.concatenate([at_s for at_s, _ in flows.values()])
        order = np.argsort(arrival_s, kind="stable")
        departure_s = np.empty_like(arrival_s)
        departure_s[order] = served(arrival_s[order], network.operator(name).service.sample(order.size, rng))
        ends = np.cumsum([at_s.size for at_s, _ in flows.values()])[:-1]
        split = np.split(departure_s, ends)
        left[name] = {way: (d, entered_s) for d, (way, (_, entered_s)) in zip(split, flows.items(), strict=True)}
    sinks = [name for name in network.order if not network.out_of(name)]
    return {way: figures(at_s - entered_s) for name in sinks for way, (at_s, entered_s) in left[name].items()}


def graphs() -> dict[str, Network]:
    """What tandems and forks do not show."""

    def network(services: dict[str, PH], *edges: tuple[str, str, float]) -> Network:
        return Network([Operator(name, service) for name, service in services.items()], [Edge(*e) for e in edges])

    def erlangs(**means_s: float) -> dict[str, PH]:
        return {name: PH.erlang(2, mean_s) for name, mean_s in means_s.items()}

    six = [f"o{i}" for i in range(6)]
    return {
        "filter .5, slowest first": network(erlangs(a=0.8, b=1.2), ("a", "b", 0.5)),
        "filter .5, slowest last": network(erlangs(a=0.5, b=1.6), ("a", "b", 0.5)),
        "filter .1, slowest last": network(erlangs(a=0.5, b=8.0), ("a", "b", 0.1)),
        "flat map 2.5, slowest first": network(erlangs(a=0.8, b=0.2), ("a", "b", 2.5)),
        "flat map 4, slowest last": network(erlangs(a=0.5, b=0.2), ("a", "b", 4.0)),
        "flat map 4 before two": network(erlangs(a=0.3, b=0.2, c=0.15), ("a", "b", 4.0), ("b", "c", 1.0)),
        "copies that merge": network(
            erlangs(p=0.3, a=0.5, b=0.2, c=0.4), ("p", "a", 1.0), ("p", "b", 1.0), ("a", "c", 1.0), ("b", "c", 1.0)
        ),
        "filters that merge": network(
            erlangs(p=0.3, a=1.2, b=0.8, c=0.8), ("p", "a", 0.5), ("p", "b", 0.5), ("a", "c", 1.0), ("b", "c", 1.0)
        ),
        "exponential before Erlang-4": network({"a": PH.exponential(0.7), "b": PH.erlang(4, 0.8)}, ("a", "b", 1.0)),
        "Erlang-4 before exponential": network({"a": PH.erlang(4, 0.7), "b": PH.exponential(0.8)}, ("a", "b", 1.0)),
        "service SCV 4 before Erlang-2": network(
            {"a": PH.with_moments(0.7, 4.0), "b": PH.erlang(2, 0.8)}, ("a", "b", 1.0)
        ),
        "service SCV 10 before Erlang-2": network(
            {"a": PH.with_moments(0.5, 10.0), "b": PH.erlang(2, 0.8)}, ("a", "b", 1.0)
        ),
        "six equal": network({name: PH.erlang(2, 0.7) for name in six}, *((a, b, 1.0) for a, b in pairwise(six))),
    }
