from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import inf, isfinite
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.paths import vectors

from mead.policies.drs.model import Model, OpenNetwork, Station
from mead.policies.drs.search import (
    InsufficientProcessors,
    Limits,
    Placement,
    TmaxUnreachable,
    assign_processors,
    min_processors,
)
from mead.queueing import Unstable
from mead.queueing.queues.mmk import mmk
from mead.values import Batches

BATCHES = st.none() | st.builds(Batches, st.floats(0.0, 2.0), st.none() | st.floats(0.1, 5.0))
CASES = vectors("drs.json")["cases"]


def network(case: dict[str, Any]) -> OpenNetwork:
    columns = zip(case["lambda_i"], case["mu_i"], case["a_i"], case["s_i"], strict=True)
    return OpenNetwork(case["lambda0"], tuple(Station(*column) for column in columns), Model(case["model"]))


def solved(case: dict[str, Any]) -> Placement:
    if "Kmax" in case:
        return assign_processors(network(case), case["Kmax"])
    return min_processors(network(case), case["Tmax"], case["Kcap"])


@pytest.mark.parametrize("case", [c for c in CASES if "error" not in c["expected"]], ids=lambda c: str(c["id"]))
def test_placements_are_those_of_the_vectors(case: dict[str, Any]) -> None:
    found, expected = solved(case), case["expected"]
    assert list(found.processors) == expected["k"]
    assert found.sojourn_s == pytest.approx(expected["ET"], rel=1e-6)
    assert network(case).sojourn_s(found.processors) == pytest.approx(expected["ET"], rel=1e-6)


@pytest.mark.parametrize("case", [c for c in CASES if "error" in c["expected"]], ids=lambda c: str(c["id"]))
def test_refusals_are_those_of_the_vectors(case: dict[str, Any]) -> None:
    with pytest.raises((InsufficientProcessors, TmaxUnreachable)) as refused:
        solved(case)
    assert type(refused.value).__name__ == case["expected"]["error"]
    for detail in ("needed", "reason"):
        if detail in case["expected"]:
            assert getattr(refused.value, detail) == case["expected"][detail]


@st.composite
def networks(draw: st.DrawFn, model: Model | None = None) -> OpenNetwork:
    scvs = st.floats(0.0, 4.0)
    stations = draw(
        st.lists(
            st.builds(Station, st.floats(0.1, 5.0), st.floats(0.7, 4.0), scvs, scvs, BATCHES), min_size=1, max_size=3
        )
    )
    return OpenNetwork(draw(st.floats(0.1, 5.0)), tuple(stations), model or draw(st.sampled_from(list(Model))))


def sped_up(station: Station, faster: float) -> Station:
    """In another unit of time."""
    batches = station.batches and Batches(
        station.batches.overhead_s / faster, station.batches.trigger_s and station.batches.trigger_s / faster
    )
    rate_per_s = station.rate_per_s * faster
    return Station(rate_per_s, rate_per_s / station.load, batches=batches)


def all_placements(of: OpenNetwork, k_max: int) -> list[tuple[int, ...]]:
    spare = k_max - sum(of.least)
    return [
        tuple(least + more for least, more in zip(of.least, added, strict=True))
        for added in product(range(spare + 1), repeat=len(of.least))
        if sum(added) <= spare
    ]


@pytest.mark.parametrize("load", [2.99996, 2.99999, 3 - 1e-7, 3.0])
def test_the_search_and_the_queues_agree_on_what_is_enough(load: float) -> None:
    """Within 1e-5 of full utilization a queue counts as overloaded, and three processors are full at 2.99997."""
    of = OpenNetwork(1.0, (Station(load, 1.0),))
    assert of.least == ((4,) if load > 2.99997 else (3,))
    assert isfinite(of.sojourn_s(of.least))
    assert of.sojourn_s([of.least[0] - 1]) == inf
    assert assign_processors(of, of.least[0]).sojourn_s == pytest.approx(of.sojourn_s(of.least))


@given(networks(), st.integers(0, 7))
@settings(deadline=None)
def test_no_other_placement_is_shorter(of: OpenNetwork, spare: int) -> None:
    k_max = sum(of.least) + spare
    found = assign_processors(of, k_max)
    assert found.total == k_max
    assert found.sojourn_s == pytest.approx(min(map(of.sojourn_s, all_placements(of, k_max))), rel=1e-9)


@given(networks(), st.floats(1.0001, 3.0))
@settings(deadline=None)
def test_no_placement_of_fewer_processors_keeps_the_target(of: OpenNetwork, slack: float) -> None:
    t_max_s = slack * of.shortest_s
    found = min_processors(of, t_max_s)
    assert of.sojourn_s(found.processors) <= t_max_s * (1 + 1e-9)
    if 0 <= found.total - 1 - sum(of.least) <= 7:
        assert min(map(of.sojourn_s, all_placements(of, found.total - 1))) > t_max_s * (1 - 1e-9)


@given(networks(Model.MMK), st.integers(0, 30), st.floats(0.01, 100.0))
@settings(deadline=None)
def test_the_unit_of_time_does_not_matter(of: OpenNetwork, spare: int, faster: float) -> None:
    scaled = OpenNetwork(of.external_per_s * faster, tuple(sped_up(station, faster) for station in of.stations))
    slow, quick = assign_processors(of, sum(of.least) + spare), assign_processors(scaled, sum(of.least) + spare)
    assert quick.sojourn_s * faster == pytest.approx(slow.sojourn_s, rel=1e-9)


@given(networks(), st.integers(0, 12), st.integers(0, 3))
@settings(deadline=None)
def test_limits_are_kept_and_the_best_within_them_is_found(of: OpenNetwork, spare: int, room: int) -> None:
    limits = Limits(tuple(k + (place == 0) for place, k in enumerate(of.least)), tuple(k + 1 + room for k in of.least))
    k_max = sum(limits.least) + spare
    found = assign_processors(of, k_max, limits)
    allowed = [
        k
        for k in product(*(range(least, most + 1) for least, most in zip(limits.least, limits.most, strict=True)))
        if sum(k) <= k_max
    ]
    assert found.processors in allowed
    assert found.sojourn_s == pytest.approx(min(map(of.sojourn_s, allowed)), rel=1e-9)


def test_one_operator_is_an_erlang_queue() -> None:
    for k in (12, 40, 400):
        exact = mmk(rate_per_s=11.0, mean_service_s=1.0, servers=k)
        assert not isinstance(exact, Unstable)
        assert assign_processors(OpenNetwork(11.0, (Station(11.0, 1.0),)), k).sojourn_s == pytest.approx(exact.mean_s)


def test_thousands_of_processors_are_placed_where_the_literal_factorials_fail() -> None:
    loads = [100.0 + 3.0 * n for n in range(50)]
    of = OpenNetwork(1.0, tuple(Station(load, 1.0) for load in loads))
    found = assign_processors(of, 10_000)
    assert found.total == 10_000
    assert of.sojourn_s(found.processors) == pytest.approx(found.sojourn_s, rel=1e-12)
    for place in range(49):  # what is best cannot be improved by moving one processor
        moved = list(found.processors)
        moved[place] -= 1
        moved[place + 1] += 1
        assert of.sojourn_s(moved) >= found.sojourn_s


def test_a_pool_that_is_too_small_is_named() -> None:
    of = OpenNetwork(6.0, (Station(6.0, 10.0), Station(7.5, 15.0)))
    assert min_processors(of, 0.19, k_cap=5).processors == (3, 2)  # exactly the pool is enough
    for k_cap in (4, 1):
        with pytest.raises(TmaxUnreachable) as refused:
            min_processors(of, 0.19, k_cap=k_cap)
        assert refused.value.reason == "Kcap"


def test_loads_beyond_all_numbers_are_refused_at_once() -> None:
    of = OpenNetwork(1.0, (Station(1e12, 1e-12),))
    with pytest.raises(InsufficientProcessors):
        assign_processors(of, 5)
    with pytest.raises(TmaxUnreachable) as refused:
        min_processors(of, 1e30)
    assert refused.value.reason == "Kcap"


@pytest.mark.parametrize(
    ("station", "message"),
    [
        (lambda: Station(-1.0, 1.0), "arrival rate"),
        (lambda: Station(1.0, 0.0), "service rate"),
        (lambda: Station(1.0, 1.0, -0.1), "SCV"),
        (lambda: Station(1.0, 1.0, 1.0, inf), "SCV"),
    ],
)
def test_what_cannot_be_a_queue_is_refused(station: Callable[[], Station], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        station()
    with pytest.raises(ValueError, match="from outside"):
        OpenNetwork(0.0, (Station(1.0, 1.0),))
