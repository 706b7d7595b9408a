"""The model of networks under bursts: against simulation, and never against common sense."""

from __future__ import annotations

from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.paths import vectors

from mead.queueing import (
    MAP,
    PH,
    Edge,
    InvalidNetworkError,
    Network,
    Operator,
    QueueSolution,
    ResponseTime,
    Unstable,
    solve_network,
)

if TYPE_CHECKING:
    from tests.queueing.network.conftest import Simulate

VECTORS = vectors("mapph1.json")["cases"]
LEVELS = (0.4, 0.55, 0.7, 0.85, 1.0)
"""The shares between which the auto-scaler chooses."""


def vector(arrival: str) -> MAP:
    """A MAP of the reference cases at rate 1."""
    case = next(case for case in VECTORS if case["arrival"] == arrival)
    return MAP(case["D0"], case["D1"]).with_rate(1.0)


SOURCES = {
    "poisson": MAP.poisson(1.0),
    "fast bursts": MAP.two_state(1.0, idc=6.0),
    "bursts": MAP.two_state(1.0, idc=10.0),
    "slow bursts": vector("mmpp2_vstrong"),
    "renewal": vector("hyper_renewal_scv4"),
    "8 states": vector("kpc8"),
    "bellcore": vector("bc25k_kpc8_sec"),
}


def chain(means_s: list[float], phases: list[int], selectivities: list[float]) -> Network:
    """Operators one behind the other; ``means_s`` are per tuple of the source, so they are utilizations at rate 1."""
    names = [f"o{i}" for i in range(len(means_s))]
    tuples = [prod(selectivities[:i]) for i in range(len(names))]
    services = [PH.erlang(k, mean / reach) for k, mean, reach in zip(phases, means_s, tuples, strict=True)]
    edges = [Edge(a, b, s) for (a, b), s in zip(pairwise(names), selectivities, strict=True)]
    return Network([Operator(name, service) for name, service in zip(names, services, strict=True)], edges)


def erlang_network(means_s: dict[str, float], *edges: tuple[str, str, float]) -> Network:
    return Network([Operator(name, PH.erlang(2, mean)) for name, mean in means_s.items()], [Edge(*e) for e in edges])


def stable(solution: QueueSolution) -> ResponseTime:
    assert not isinstance(solution, Unstable)
    return solution


NETWORKS = {
    "slow first": (erlang_network({"a": 0.8, "b": 0.5}, ("a", "b", 1)), 0.06),
    "fast first": (erlang_network({"a": 0.5, "b": 0.8}, ("a", "b", 1)), 0.06),
    "equal": (erlang_network({"a": 0.7, "b": 0.7}, ("a", "b", 1)), 0.08),
    "three": (erlang_network({"a": 0.5, "b": 0.75, "c": 0.65}, ("a", "b", 1), ("b", "c", 1)), 0.08),
    "fork": (erlang_network({"p": 0.5, "c": 0.3, "m": 0.75}, ("p", "c", 1), ("p", "m", 1)), 0.06),
    "filter": (erlang_network({"a": 0.5, "b": 2.5}, ("a", "b", 0.3)), 0.06),
    "flat map": (erlang_network({"a": 0.5, "b": 0.2}, ("a", "b", 3.5)), 0.06),
    "batches pipelined": (erlang_network({"a": 0.3, "b": 0.2, "c": 0.15}, ("a", "b", 4), ("b", "c", 1)), 0.06),
    "merging copies": (
        erlang_network(
            {"p": 0.3, "a": 0.5, "b": 0.2, "c": 0.35}, ("p", "a", 1), ("p", "b", 1), ("a", "c", 1), ("b", "c", 1)
        ),
        0.12,
    ),
}


@pytest.mark.parametrize(("source", "tuples"), [("poisson", 200_000), ("bursts", 600_000)])
@pytest.mark.parametrize("name", NETWORKS)
def test_paths_are_those_of_a_simulation(source: str, tuples: int, name: str, simulate: Simulate) -> None:
    network, within = NETWORKS[name]
    run = simulate(network, SOURCES[source], tuples, 1)
    paths = solve_network(network, SOURCES[source]).paths
    assert set(paths) == set(run.paths)
    for path, answer in paths.items():
        simulated = run.paths[path]
        assert stable(answer).mean_s == pytest.approx(simulated.mean(), rel=within)
        assert stable(answer).percentile_s(95) == pytest.approx(np.percentile(simulated, 95), rel=1.5 * within)


@pytest.mark.parametrize("name", ["slow first", "fast first", "three", "fork", "filter"])
def test_operators_are_those_of_a_simulation(name: str, simulate: Simulate) -> None:
    network, _ = NETWORKS[name]
    run = simulate(network, SOURCES["bursts"], 600_000, 2)
    for operator, answer in solve_network(network, SOURCES["bursts"]).operators.items():
        simulated = run.operators[operator]
        assert stable(answer).mean_s == pytest.approx(simulated.mean(), rel=0.08)
        assert stable(answer).percentile_s(95) == pytest.approx(np.percentile(simulated, 95), rel=0.15)


def test_services_of_different_variability_keep_their_order(simulate: Simulate) -> None:
    """An irregular operator before a regular, slower one is not the same as behind it: by simulation a third longer."""
    irregular, regular = PH.with_moments(0.7, 4.0), PH.erlang(2, 0.75)
    means = []
    for first, second in ((irregular, regular), (regular, irregular)):
        network = Network([Operator("a", first), Operator("b", second)], [Edge("a", "b")])
        simulated = simulate(network, MAP.poisson(1.0), 400_000, 5).paths["a>b"].mean()
        means.append(simulated)
        assert stable(solve_network(network, MAP.poisson(1.0)).paths["a>b"]).mean_s == pytest.approx(
            simulated, rel=0.08
        )
    assert means[0] > 1.1 * means[1]


operators = st.lists(
    st.tuples(st.floats(0.02, 0.97), st.integers(1, 4), st.sampled_from([0.3, 0.8, 1.0, 1.0, 2.0])),
    min_size=2,
    max_size=3,
)


@settings(max_examples=40)
@given(st.sampled_from(sorted(SOURCES)), operators, st.integers(0, 2), st.integers(0, 3))
def test_more_share_never_makes_a_path_slower(
    source: str, shape: list[tuple[float, int, float]], which: int, level: int
) -> None:
    loads, phases, selectivities = (list(column) for column in zip(*shape, strict=True))
    network = chain(loads, phases, selectivities[:-1])
    name = network.order[which % len(loads)]
    loads[which % len(loads)] *= LEVELS[level] / LEVELS[level + 1]
    faster = chain(loads, phases, selectivities[:-1])
    before, after = (solve_network(n, SOURCES[source]).paths[">".join(n.order)] for n in (network, faster))
    assert stable(after).mean_s <= stable(before).mean_s * (1 + 1e-9), name


@settings(max_examples=40)
@given(
    st.sampled_from(sorted(SOURCES)),
    st.lists(st.floats(0.02, 0.97), min_size=2, max_size=3),
    st.integers(0, 2),
    st.sampled_from([1.001, 1.02, 1.2, 2.0]),
    st.sampled_from([50.0, 95.0, 99.0]),
)
def test_percentiles_of_operators_that_differ_in_speed_only_never_rise_with_a_share(
    source: str, loads: list[float], which: int, factor: float, percent: float
) -> None:
    faster = [load / factor if i == which % len(loads) else load for i, load in enumerate(loads)]
    before, after = (
        stable(solve_network(n, SOURCES[source]).paths[">".join(n.order)])
        for n in (chain(some, [2] * len(some), [1.0] * (len(some) - 1)) for some in (loads, faster))
    )
    assert after.mean_s <= before.mean_s * (1 + 1e-9)
    assert after.percentile_s(percent) <= before.percentile_s(percent) * (1 + 1e-4)


@settings(max_examples=20)
@given(st.sampled_from(sorted(SOURCES)), st.lists(st.floats(0.02, 0.95), min_size=2, max_size=4))
def test_a_longer_chain_takes_longer_by_its_services_at_least(source: str, loads: list[float]) -> None:
    def mean_s(count: int) -> float:
        network = chain(loads[:count], [2] * count, [1.0] * (count - 1))
        return stable(solve_network(network, SOURCES[source]).paths[">".join(network.order)]).mean_s

    for count in range(2, len(loads) + 1):
        assert mean_s(count) >= mean_s(count - 1) + loads[count - 1] * (1 - 1e-9)


def test_equally_loaded_operators_have_one_answer_whoever_is_the_bottleneck() -> None:
    """A jump there would make an allocation that gives more look worse."""
    for source in SOURCES.values():
        for phases, selectivity in (([2, 2], 1.0), ([4, 1], 1.0), ([2, 2], 0.3)):
            first, second = (
                stable(solve_network(chain(loads, phases, [selectivity]), source).paths["o0>o1"]).mean_s
                for loads in ([0.7 + 1e-9, 0.7], [0.7, 0.7 + 1e-9])
            )
            assert first == pytest.approx(second, rel=1e-5)


def test_the_model_is_for_single_servers() -> None:
    network = Network([Operator("a", PH.exponential(0.5), servers=2)])
    with pytest.raises(InvalidNetworkError, match="'a' has 2; use 'mmk' or 'gigk'"):
        solve_network(network, MAP.poisson(1.0))
