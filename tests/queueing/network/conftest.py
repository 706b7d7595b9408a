"""A simulation of networks that shares nothing with the models: arrival times, sorting, and Lindley's recursion."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from mead.arrays import FloatArray, IntArray
from mead.queueing import MAP, Network

Simulate = Callable[[Network, MAP, int, int], "Simulated"]


@dataclass(frozen=True)
class Simulated:
    """Response times of every tuple, by operator and by path; the first fiftieth is left out."""

    operators: dict[str, FloatArray]
    paths: dict[str, FloatArray]


@dataclass(frozen=True)
class Flow:
    """Tuples that leave an operator: when, when their ancestor entered the network, and which way they took."""

    at_s: FloatArray
    entered_s: FloatArray
    way: IntArray
    ways: list[str]


def served(arrival_s: FloatArray, service_s: FloatArray) -> FloatArray:
    """Departures, first come first served: ``D_n = max over j of (A_j + S_j + ... + S_n)``."""
    done = np.cumsum(service_s)
    return np.asarray(done + np.maximum.accumulate(arrival_s - (done - service_s)))


def run(network: Network, arrivals: MAP, tuples: int, seed: int) -> Simulated:
    rng = np.random.default_rng(seed)
    source_s = np.cumsum(arrivals.sample(tuples, rng))
    left: dict[str, Flow] = {}
    operators: dict[str, FloatArray] = {}
    paths: dict[str, FloatArray] = {}
    for name in network.order:
        inputs = [] if network.into(name) else [Flow(source_s, source_s, np.zeros(tuples, dtype=np.int64), [name])]
        for edge in network.into(name):
            flow = left[edge.source]
            copies = (edge.selectivity + rng.random(flow.at_s.size)).astype(np.int64)
            inputs.append(
                Flow(
                    np.repeat(flow.at_s, copies),
                    np.repeat(flow.entered_s, copies),
                    np.repeat(flow.way, copies),
                    [f"{before}>{name}" for before in flow.ways],
                )
            )
        offsets = np.cumsum([0] + [len(flow.ways) for flow in inputs])
        arrival_s = np.concatenate([flow.at_s for flow in inputs])
        order = np.argsort(arrival_s, kind="stable")
        arrival_s = arrival_s[order]
        entered_s = np.concatenate([flow.entered_s for flow in inputs])[order]
        way = np.concatenate([flow.way + offset for flow, offset in zip(inputs, offsets, strict=False)])[order]
        ways = [taken for flow in inputs for taken in flow.ways]
        departure_s = served(arrival_s, network.operator(name).service.sample(arrival_s.size, rng))
        left[name] = Flow(departure_s, entered_s, way, ways)
        warm = slice(arrival_s.size // 50, None)
        operators[name] = (departure_s - arrival_s)[warm]
        if not network.out_of(name):
            for index, path in enumerate(ways):
                paths[path] = (departure_s - entered_s)[warm][way[warm] == index]
    return Simulated(operators, paths)


@pytest.fixture(scope="session")
def simulate() -> Simulate:
    return run
