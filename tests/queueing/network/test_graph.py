from __future__ import annotations

from itertools import pairwise

import pytest

from mead.queueing import PH, Edge, InvalidNetworkError, Network, Operator
from mead.queueing.network.graph import CyclicNetworkError

SERVICE = PH.erlang(2, 0.001)


def network(names: str, *edges: tuple[str, str]) -> Network:
    return Network([Operator(name, SERVICE) for name in names], [Edge(*edge) for edge in edges])


def test_paths_lead_from_every_source_to_every_sink() -> None:
    diamond = network("pabcs", ("p", "a"), ("p", "b"), ("a", "c"), ("b", "c"), ("s", "b"))
    assert diamond.paths == (("p", "a", "c"), ("p", "b", "c"), ("s", "b", "c"))


def test_operators_are_ordered_after_their_predecessors() -> None:
    shuffled = network("cbap", ("p", "a"), ("p", "b"), ("a", "c"), ("b", "c"))
    place = shuffled.order.index
    assert all(place(edge.source) < place(edge.target) for edge in shuffled.edges)


@pytest.mark.parametrize(
    ("names", "edges", "complaint"),
    [
        ("", [], "at least one operator"),
        ("aa", [], "two operators have the name 'a'"),
        ("a>", [], "without '>'"),
        ("ab", [("a", "x")], "unknown operator 'x'; the operators are 'a', 'b'"),
        ("ab", [("a", "b"), ("a", "b")], "'a' to 'b' is listed twice"),
    ],
)
def test_what_is_no_network_is_refused(names: str, edges: list[tuple[str, str]], complaint: str) -> None:
    with pytest.raises(InvalidNetworkError, match=complaint):
        network(names, *edges)


@pytest.mark.parametrize("edges", [[("a", "a")], [("a", "b"), ("b", "c"), ("c", "b")]])
def test_a_cycle_is_an_error_of_its_own(edges: list[tuple[str, str]]) -> None:
    with pytest.raises(CyclicNetworkError, match="on or behind a cycle"):
        network("abc", *edges)


@pytest.mark.parametrize("selectivity", [0.0, -1.0, float("inf"), float("nan")])
def test_a_selectivity_is_positive_and_finite(selectivity: float) -> None:
    with pytest.raises(InvalidNetworkError, match="must be above 0 and finite"):
        Edge("a", "b", selectivity)


def test_an_operator_needs_a_server() -> None:
    with pytest.raises(InvalidNetworkError, match="at least one server; got 0"):
        Operator("a", SERVICE, servers=0)


def test_a_chain_of_thousands_is_one_path() -> None:
    names = [f"o{number}" for number in range(3000)]
    chain = Network([Operator(name, PH.exponential(1.0)) for name in names], [Edge(*pair) for pair in pairwise(names)])
    assert chain.paths == (tuple(names),)
