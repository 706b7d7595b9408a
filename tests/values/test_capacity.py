from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mead.values import Allocation, Capacity, Operator, Pipeline, Resources

COUNTS = st.tuples(*[st.integers(1, 6)] * 3)


def pipeline(shares: tuple[float, ...] = (1.0, 1.0, 1.0), least: int = 1) -> Pipeline:
    operators = [
        Operator(name, 0.01, shares=(share,), min_replicas=least, max_replicas=6)
        for name, share in zip("abc", shares, strict=True)
    ]
    return Pipeline("three", operators)


def placed(counts: tuple[int, ...], shares: tuple[float, ...] = (1.0, 1.0, 1.0)) -> Allocation:
    return Allocation.of({n: Resources(s, k) for n, s, k in zip("abc", shares, counts, strict=True)})


@given(target=COUNTS, now=COUNTS, processors=st.integers(1, 18), divisible=st.booleans())
def test_a_limited_allocation_fits_and_gives_up_no_more_than_it_must(
    target: tuple[int, ...], now: tuple[int, ...], processors: int, *, divisible: bool
) -> None:
    shares = (0.5, 1.0, 0.75)
    capacity, graph = Capacity(processors, divisible=divisible), pipeline(shares)
    limited = capacity.limit(placed(target, shares), placed(now, shares), graph)
    counts = tuple(r.replicas for r in limited.values())
    assert all(1 <= left <= asked for left, asked in zip(counts, target, strict=True))
    assert capacity.holds(limited) or counts == (1, 1, 1), "no processors for one replica each: they share"
    if capacity.holds(placed(target, shares)):
        assert counts == target


def test_the_least_replicas_stay_even_where_they_do_not_fit() -> None:
    graph = pipeline(least=2)
    assert Capacity(2).limit(graph.most, graph.least, graph) == placed((2, 2, 2))
    assert Capacity(2).replicas(graph) == 6


@pytest.mark.parametrize("divisible", [True, False])
@pytest.mark.parametrize("processors", [1, 3, 5])
@pytest.mark.parametrize("shares", [(0.4, 0.4, 0.4), (0.5, 1.0, 0.75), (1.0, 1.0, 1.0)])
def test_replicas_are_as_many_as_fit_in_some_placement(
    shares: tuple[float, float, float], processors: int, *, divisible: bool
) -> None:
    capacity, graph = Capacity(processors, divisible=divisible), pipeline(shares)
    every = [placed(counts, shares) for counts in product(range(1, 14), repeat=3)]
    fitting = [tuple(r.replicas for r in one.values()) for one in every if capacity.holds(one)] or [(1, 1, 1)]
    assert capacity.replicas(graph) == max(map(sum, fitting))
    most = tuple(min(max(counts), 6) for counts in zip(*fitting, strict=True))
    assert tuple(capacity.most(graph).values()) == most
