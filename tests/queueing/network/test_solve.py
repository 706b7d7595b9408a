from __future__ import annotations

from itertools import pairwise, permutations
from math import exp

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.sparse import csc_array, diags_array, eye_array, kron
from scipy.sparse.linalg import spsolve
from tests.paths import vectors

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
    map_ph_1,
    solve_network,
)

VECTORS = vectors("mapph1.json")["cases"]


def vector(arrival: str) -> MAP:
    """A MAP of the reference cases at rate 1."""
    case = next(case for case in VECTORS if case["arrival"] == arrival)
    return MAP(case["D0"], case["D1"]).with_rate(1.0)


SOURCES = {
    "poisson": MAP.poisson(1.0),
    "two-state": MAP.two_state(1.0, idc=20.0),
    "renewal": vector("hyper_renewal_scv4"),
    "8 states": vector("kpc8"),
    "16 states": vector("kpc16"),
    "bellcore": vector("bc25k_kpc16_sec"),
}


def tandem(*services: PH, selectivity: float = 1.0) -> Network:
    names = [f"o{i}" for i in range(len(services))]
    operators = [Operator(name, service) for name, service in zip(names, services, strict=True)]
    return Network(operators, [Edge(a, b, selectivity) for a, b in pairwise(names)])


def erlangs(*means_s: float) -> list[PH]:
    return [PH.erlang(2, mean_s) for mean_s in means_s]


def stable(solution: QueueSolution) -> ResponseTime:
    assert not isinstance(solution, Unstable)
    return solution


def overload(solution: QueueSolution) -> float:
    """The utilization of what is overloaded."""
    assert isinstance(solution, Unstable)
    return solution.utilization


def only_path(network: Network, arrivals: MAP) -> ResponseTime:
    (path,) = solve_network(network, arrivals).paths.values()
    return stable(path)


# -- closed forms ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arrivals", SOURCES.values(), ids=SOURCES)
@pytest.mark.parametrize("utilization", [0.3, 0.9])
def test_a_single_operator_is_its_queue(arrivals: MAP, utilization: float) -> None:
    network = tandem(*erlangs(utilization))
    exact = stable(map_ph_1(arrivals, PH.erlang(2, utilization)))
    solution = solve_network(network, arrivals)
    for answer in (stable(solution.operators["o0"]), stable(solution.paths["o0"])):
        assert answer.utilization == pytest.approx(utilization)
        assert answer.mean_s == pytest.approx(exact.mean_s, rel=1e-12)
        assert answer.percentile_s(95) == pytest.approx(exact.percentile_s(95), rel=1e-12)


def hypoexponential_tail(rates: list[float], t: float) -> float:
    factors = [np.prod([b / (b - a) for b in rates if b != a]) for a in rates]
    return float(sum(factor * exp(-rate * t) for factor, rate in zip(factors, rates, strict=True)))


@pytest.mark.parametrize("means", list(permutations([0.3, 0.5, 0.9])))
def test_poisson_and_exponential_is_jacksons_product_form(means: tuple[float, ...]) -> None:
    network = tandem(*(PH.exponential(mean) for mean in means))
    solution = solve_network(network, MAP.poisson(1.0))
    for name, mean in zip(network.order, means, strict=True):
        assert stable(solution.operators[name]).mean_s == pytest.approx(mean / (1 - mean), rel=1e-9)
    path = stable(solution.paths["o0>o1>o2"])
    assert path.mean_s == pytest.approx(sum(mean / (1 - mean) for mean in means), rel=1e-9)
    rates = [1 / mean - 1 for mean in means]
    for percent in (50, 95, 99.9):
        exact = brentq(lambda t, late=1 - percent / 100: hypoexponential_tail(rates, t) - late, 0, 1000)
        assert path.percentile_s(percent) == pytest.approx(exact, rel=1e-4)


def test_jacksons_product_form_holds_behind_filters_and_forks() -> None:
    network = Network(
        [Operator("a", PH.exponential(0.6)), Operator("b", PH.exponential(1.6)), Operator("c", PH.exponential(0.3))],
        [Edge("a", "b", 0.5), Edge("a", "c")],
    )
    solution = solve_network(network, MAP.poisson(1.0))
    assert stable(solution.paths["a>b"]).mean_s == pytest.approx(1 / (1 / 0.6 - 1) + 1 / (1 / 1.6 - 0.5), rel=1e-9)
    assert stable(solution.paths["a>c"]).mean_s == pytest.approx(1 / (1 / 0.6 - 1) + 1 / (1 / 0.3 - 1), rel=1e-9)


def test_a_flat_map_brings_batches() -> None:
    """Poisson batches of three at an exponential server: Pollaczek-Khinchine for batches, then two services."""
    network = Network([Operator("a", PH.exponential(1e-9)), Operator("b", PH.exponential(0.2))], [Edge("a", "b", 3.0)])
    batch = PH.erlang(3, 0.6)
    wait_s = batch.moment(2) / (2 * (1 - 0.6))
    answer = stable(solve_network(network, MAP.poisson(1.0)).operators["b"])
    assert answer.utilization == pytest.approx(0.6)
    assert answer.mean_s == pytest.approx(wait_s + 2 * 0.2, rel=1e-6)


def exact_mean_response_s(arrivals: MAP, first_s: float, second_s: float, longest: int = 45) -> float:
    """The tandem MAP/M/1 -> /M/1 as one Markov chain with both queues cut off; solved without any of our models."""
    up = eye_array(longest + 1, k=1)
    down = eye_array(longest + 1, k=-1)
    phases, lengths = eye_array(arrivals.states), eye_array(longest + 1)
    rates = (
        kron(kron(arrivals.D1, up), lengths)
        + kron(kron(phases, down), up) / first_s
        + kron(kron(phases, lengths), down) / second_s
        + kron(kron(arrivals.D0 - np.diag(np.diag(arrivals.D0)), lengths), lengths)
    )
    generator = rates - diags_array(np.asarray(rates.sum(axis=1)).ravel())
    balance = generator.T.tolil()
    balance[0, :] = 1.0  # one equation gives way to the normalisation
    right = np.zeros(balance.shape[0])
    right[0] = 1.0
    pi: FloatArray = spsolve(csc_array(balance), right).reshape(arrivals.states, longest + 1, longest + 1)
    numbers = np.arange(longest + 1)
    total = (pi.sum(axis=(0, 2)) * numbers).sum() + (pi.sum(axis=(0, 1)) * numbers).sum()
    return float(total / arrivals.rate_per_s)


@pytest.mark.parametrize(("first_s", "second_s", "within"), [(0.5, 0.35, 0.01), (0.35, 0.5, 0.01), (0.45, 0.45, 0.03)])
def test_a_small_tandem_agrees_with_the_exact_markov_chain(first_s: float, second_s: float, within: float) -> None:
    arrivals = MAP.two_state(1.0, idc=8.0)
    exact_s = exact_mean_response_s(arrivals, first_s, second_s)
    path = only_path(tandem(PH.exponential(first_s), PH.exponential(second_s)), arrivals)
    assert path.mean_s == pytest.approx(exact_s, rel=within)
    # Feeding the source to both would be far off: that is what the network model is for.
    fed_twice_s = sum(stable(map_ph_1(arrivals, PH.exponential(s))).mean_s for s in (first_s, second_s))
    assert abs(fed_twice_s / exact_s - 1) > 4 * within


# -- what must hold for any network ------------------------------------------------------------------------------------


@pytest.mark.parametrize("arrivals", SOURCES.values(), ids=SOURCES)
def test_operators_of_a_path_add_up(arrivals: MAP) -> None:
    solution = solve_network(tandem(*erlangs(0.5, 0.8, 0.7)), arrivals)
    total = sum(stable(operator).mean_s for operator in solution.operators.values())
    assert stable(solution.paths["o0>o1>o2"]).mean_s == pytest.approx(total, rel=1e-9)


def test_operators_of_a_path_add_up_where_streams_merge() -> None:
    operators = [Operator(name, service) for name, service in zip("pabc", erlangs(0.3, 0.5, 0.2, 0.4), strict=True)]
    diamond = Network(operators, [Edge("p", "a"), Edge("p", "b"), Edge("a", "c"), Edge("b", "c")])
    solution = solve_network(diamond, SOURCES["two-state"])
    for path in ("p>a>c", "p>b>c"):
        total = sum(stable(solution.operators[name]).mean_s for name in path.split(">"))
        assert stable(solution.paths[path]).mean_s == pytest.approx(total, rel=1e-9)


@pytest.mark.parametrize("unit_s", [1e-6, 1e3])
def test_the_unit_of_time_does_not_matter(unit_s: float) -> None:
    arrivals = SOURCES["8 states"]
    plain = only_path(tandem(*erlangs(0.5, 0.8)), arrivals)
    scaled = only_path(tandem(*erlangs(0.5 * unit_s, 0.8 * unit_s)), arrivals.with_rate(1 / unit_s))
    assert scaled.mean_s == pytest.approx(unit_s * plain.mean_s, rel=1e-8)
    assert scaled.percentile_s(95) == pytest.approx(unit_s * plain.percentile_s(95), rel=1e-6)


def test_exponential_servers_can_be_interchanged() -> None:
    """Weber (1979): whatever the arrivals, the order of exponential servers does not show in the path."""
    one, other = (
        only_path(tandem(*(PH.exponential(s) for s in means)), SOURCES["16 states"])
        for means in ((0.4, 0.8), (0.8, 0.4))
    )
    assert one.mean_s == pytest.approx(other.mean_s, rel=1e-9)
    assert one.percentile_s(95) == pytest.approx(other.percentile_s(95), rel=1e-9)


def test_a_copy_that_goes_elsewhere_changes_nothing() -> None:
    """A fork copies; what happens on one branch cannot be felt on the other."""
    parser, counter, matcher = (
        Operator(name, service)
        for name, service in zip(("parser", "counter", "matcher"), erlangs(0.5, 0.3, 0.8), strict=True)
    )
    fork = Network([parser, counter, matcher], [Edge("parser", "counter"), Edge("parser", "matcher")])
    alone = Network([parser, matcher], [Edge("parser", "matcher")])
    for arrivals in SOURCES.values():
        forked, single = (stable(solve_network(network, arrivals).paths["parser>matcher"]) for network in (fork, alone))
        assert forked.mean_s == pytest.approx(single.mean_s, rel=1e-12)
        assert forked.percentile_s(95) == pytest.approx(single.percentile_s(95), rel=1e-12)


def test_every_source_operator_gets_the_arrivals() -> None:
    two_roots = Network([Operator("a", PH.erlang(2, 0.5)), Operator("b", PH.erlang(2, 0.7))])
    solution = solve_network(two_roots, SOURCES["renewal"])
    for name, mean_s in (("a", 0.5), ("b", 0.7)):
        exact_s = stable(map_ph_1(SOURCES["renewal"], PH.erlang(2, mean_s))).mean_s
        assert stable(solution.paths[name]).mean_s == pytest.approx(exact_s, rel=1e-12)


# -- overload --------------------------------------------------------------------------------------------------------


def test_overload_stays_on_the_paths_that_go_through_it() -> None:
    operators = [Operator(name, service) for name, service in zip("pcm", erlangs(0.5, 0.3, 1.25), strict=True)]
    solution = solve_network(Network(operators, [Edge("p", "c"), Edge("p", "m")]), SOURCES["two-state"])
    assert overload(solution.operators["m"]) == overload(solution.paths["p>m"]) == pytest.approx(1.25)
    assert stable(solution.paths["p>c"]).mean_s > 0.8
    assert stable(solution.operators["p"]).mean_s > 0.5


def test_behind_an_overloaded_operator_arrivals_are_its_services() -> None:
    parser, matcher = PH.erlang(2, 1.5), PH.erlang(2, 0.9)
    solution = solve_network(tandem(parser, matcher), SOURCES["16 states"])
    assert overload(solution.operators["o0"]) == overload(solution.paths["o0>o1"]) == pytest.approx(1.5)
    services = MAP(parser.T, np.outer(parser.exit_rates, parser.alpha))
    behind, exact = stable(solution.operators["o1"]), stable(map_ph_1(services, matcher))
    assert behind.utilization == pytest.approx(0.9 / 1.5)
    assert behind.mean_s == pytest.approx(exact.mean_s, rel=1e-9)
    assert behind.percentile_s(95) == pytest.approx(exact.percentile_s(95), rel=1e-9)


@pytest.mark.parametrize("utilization", [1.0, 1 - 1e-15, 2.0])
def test_full_load_is_overload(utilization: float) -> None:
    assert isinstance(solve_network(tandem(*erlangs(utilization)), SOURCES["bellcore"]).paths["o0"], Unstable)


def test_a_filter_can_save_the_next_operator() -> None:
    slow = PH.erlang(2, 1.5)
    assert isinstance(solve_network(tandem(*erlangs(0.5), slow), SOURCES["poisson"]).operators["o1"], Unstable)
    filtered = solve_network(tandem(*erlangs(0.5), slow, selectivity=0.5), SOURCES["poisson"])
    assert stable(filtered.operators["o1"]).utilization == pytest.approx(0.75)
