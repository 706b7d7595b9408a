"""From a case to response times, against closed forms and reference values."""

from __future__ import annotations

import json
from math import exp, log
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from tests.paths import ROOT

from mead.config.solve_case import SolveCase
from mead.keys import ConfigError, parse
from mead.queueing import SATURATED
from mead.reports.models.solve import Answer, solve_case

VECTORS = ROOT / "tests" / "vectors"
POISSON = {"rate_per_s": 100.0, "scv": 1.0}
EXPONENTIAL = {"type": "erlang", "phases": 1}


def solved(**case: Any) -> Answer:
    return solve_case(parse(SolveCase, json.dumps(case).encode()))


def entries(**case: Any) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(json.dumps(solved(**case).as_json(), allow_nan=False))
    return document


def operator(name: str, mean_service_s: float, **keys: Any) -> dict[str, Any]:
    return {"name": name, "mean_service_s": mean_service_s, "service": EXPONENTIAL} | keys


@pytest.mark.parametrize("model", ["map", "mg1", "kingman", "mmk", "gigk"])
def test_every_model_knows_m_m_1(model: str) -> None:
    answer = entries(arrival=POISSON, operators=[operator("a", 0.006, share=0.8)], model=model, percentiles=[50, 99.9])
    rate = 0.8 / 0.006 - 100.0
    for entry in (answer["operators"]["a"], answer["paths"]["a"]):
        assert entry["stable"] is True
        assert entry["utilization"] == pytest.approx(0.75)
        assert entry["mean_response_s"] == pytest.approx(1 / rate, rel=1e-9)
        assert entry["percentiles_s"] == {
            "50": pytest.approx(log(2) / rate, rel=1e-6),
            "99.9": pytest.approx(log(1000) / rate, rel=1e-6),
        }


@pytest.mark.parametrize(
    "case", json.loads((VECTORS / "mapph1.json").read_text())["cases"], ids=lambda case: case["id"]
)
def test_reference_values_of_map_ph_1(case: dict[str, Any]) -> None:
    entry = entries(
        arrival={"D0": case["D0"], "D1": case["D1"]},
        operators=[{"name": "q", "service": {"alpha": case["service_alpha"], "T": case["service_T"]}}],
    )["operators"]["q"]
    expected = case["expected"]
    assert entry["utilization"] == pytest.approx(case["utilisation"], rel=1e-6)
    assert entry["mean_response_s"] == pytest.approx(expected["mean_response_time"], rel=1e-6)
    for percent in ("50", "95", "99"):
        assert entry["percentiles_s"][percent] == pytest.approx(expected[f"p{percent}"], rel=1e-6)


def test_path_of_a_jackson_network_is_the_sum_of_its_queues() -> None:
    answer = entries(
        arrival=POISSON,
        operators=[operator("a", 0.004), operator("b", 0.012), operator("c", 0.0005)],
        edges=[["a", "b", 0.5], ["a", "c"]],
        percentiles=[95],
    )
    a, b = 1 / (1 / 0.004 - 100), 1 / (1 / 0.012 - 50)
    assert answer["operators"]["b"]["mean_response_s"] == pytest.approx(b, rel=1e-6)
    assert answer["paths"]["a>b"]["mean_response_s"] == pytest.approx(a + b, rel=1e-6)
    assert set(answer["paths"]) == {"a>b", "a>c"}
    # The sum of two exponentials with different means; late with probability .05.
    late = brentq(lambda t: (b * exp(-t / b) - a * exp(-t / a)) / (b - a) - 0.05, 0, 10)
    assert answer["paths"]["a>b"]["percentiles_s"]["95"] == pytest.approx(late, rel=1e-3)


def test_overload_is_reported_without_response_times() -> None:
    answer = entries(
        arrival=POISSON, operators=[operator("a", 0.001), operator("b", 0.02)], edges=[["a", "b"]], model="map"
    )
    assert answer["operators"]["a"]["stable"] is True
    for entry in (answer["operators"]["b"], answer["paths"]["a>b"]):
        assert entry["stable"] is False
        assert entry["utilization"] == pytest.approx(2.0)
        assert set(entry) == {"stable", "utilization"}


def test_full_load_is_overload() -> None:
    assert entries(arrival=POISSON, operators=[operator("a", 0.01)])["operators"]["a"]["stable"] is False


def test_service_without_a_shape_is_erlang_2() -> None:
    named = solved(arrival=POISSON, operators=[operator("a", 0.005, service={"type": "erlang", "phases": 2})])
    assert solved(arrival=POISSON, operators=[{"name": "a", "mean_service_s": 0.005}]) == named
    assert solved(arrival=POISSON, operators=[operator("a", 0.005, service={"type": "erlang"})]) == named


def test_mean_service_time_scales_a_phase_type_shape() -> None:
    shape = {"alpha": [0.4, 0.6], "T": [[-1000.0, 1000.0], [0.0, -625.0]]}  # its own mean is 2 ms
    own = solved(arrival=POISSON, operators=[{"name": "a", "service": shape, "share": 0.5}])
    scaled = solved(arrival=POISSON, operators=[{"name": "a", "service": shape, "mean_service_s": 0.004}])
    assert own.operators["a"].utilization == pytest.approx(0.4)
    assert scaled.operators["a"].times_s == pytest.approx(own.operators["a"].times_s)


def test_share_slows_the_service_down() -> None:
    slow = solved(arrival=POISSON, operators=[operator("a", 0.002, share=0.4)])
    assert slow.operators["a"].times_s == pytest.approx(
        solved(arrival=POISSON, operators=[operator("a", 0.005)]).operators["a"].times_s
    )


def test_rate_and_scv_become_a_renewal_process() -> None:
    """Above SCV 1 the inter-arrival time is two balanced exponentials: GI/M/1, whose root is that of one equation."""
    scv, mu = 9.0, 150.0
    p = 0.5 * (1 + np.sqrt((scv - 1) / (scv + 1)))
    rates = 2 * 100.0 * np.array([p, 1 - p])

    def transform(s: float) -> float:
        return float((np.array([p, 1 - p]) * rates / (rates + s)).sum())

    sigma = brentq(lambda x: transform(mu * (1 - x)) - x, 0.01, 0.999)
    answer = solved(arrival={"rate_per_s": 100.0, "scv": scv}, operators=[operator("a", 1 / mu)])
    assert answer.operators["a"].times_s[0] == pytest.approx(1 / (mu * (1 - sigma)), rel=1e-9)


@pytest.mark.parametrize("scv", [0.0, 0.5, 7.0])
def test_kingman_takes_the_scv_as_it_is_given(scv: float) -> None:
    """rho / (1 - rho) (ca^2 + cs^2) / 2 service times of waiting, also for constant inter-arrival times."""
    answer = solved(arrival={"rate_per_s": 100.0, "scv": scv}, operators=[operator("a", 0.008)], model="kingman")
    assert answer.operators["a"].times_s[0] == pytest.approx(0.008 * (1 + 4 * (scv + 1) / 2), rel=1e-12)


def test_several_servers_share_one_queue() -> None:
    """Erlang's C formula for k = 2: the probability to wait is 2 rho^2 / (1 + rho)."""
    answer = entries(arrival=POISSON, operators=[operator("a", 0.015, servers=2)], model="mmk", percentiles=[])
    waiting = 2 * 0.75**2 / 1.75
    expected_s = 0.015 + waiting * 0.015 / (2 * (1 - 0.75))
    assert answer["operators"]["a"]["mean_response_s"] == pytest.approx(expected_s)
    assert answer["operators"]["a"]["percentiles_s"] == {}


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        ({"edges": [["a", "c"]]}, "edges: the edge 'a' to 'c' names an unknown operator 'c'"),
        ({"edges": [["a", "b"], ["b", "a"]]}, "edges: the edges must not lead back"),
        ({"edges": [["a", "b"], ["a", "b"]]}, "edges: the edge 'a' to 'b' is listed twice"),
        ({"operators": [operator("a", 0.001), operator("a", 0.001)]}, "operators: two operators have the name 'a'"),
        ({"operators": [operator("a>b", 0.001)]}, "operators[0]: an operator needs a name without '>'"),
        ({"operators": [operator("a", 0.001, servers=2)]}, "model: the model 'map' has one server per operator"),
        ({"arrival": {"D0": [[-1.0]], "D1": [[2.0]]}}, "arrival: the rows of D0 + D1 must sum to zero"),
        (
            {"operators": [operator("a", 0.001), {"name": "b", "service": {"alpha": [0.5], "T": [[-1.0]]}}]},
            "operators[1].service: alpha must be non-negative and sum to 1",
        ),
    ],
)
def test_what_a_model_refuses_names_the_key(case: dict[str, Any], expected: str) -> None:
    base = {"arrival": POISSON, "operators": [operator("a", 0.001), operator("b", 0.002)]}
    with pytest.raises(ConfigError) as caught:
        solved(**base | case)
    assert str(caught.value).startswith(expected)


positive = st.floats(1e-11, 1e11)
rates = st.just(0.0) | st.floats(1e-29, 1e29) | st.floats(1e-6, 1e6)
matrices = st.integers(1, 3).flatmap(
    lambda n: st.tuples(*[st.lists(st.lists(rates, min_size=n, max_size=n), min_size=n, max_size=n)] * 2)
)


@st.composite
def arrivals(draw: st.DrawFn) -> dict[str, Any]:
    if draw(st.booleans()):
        return {"rate_per_s": draw(positive), "scv": draw(st.floats(0, 1e6))}
    D0, D1 = draw(matrices)
    for i, row in enumerate(D0):
        row[i] = 0.0
        row[i] = -(sum(row) + sum(D1[i]))
    return {"D0": D0, "D1": D1}


@st.composite
def cases(draw: st.DrawFn) -> dict[str, Any]:
    """Cases of the right shape with numbers of any size: most of them are stable, unstable or refused by a model."""
    names = ["a", "b", "c"][: draw(st.integers(1, 3))]
    return {
        "arrival": draw(arrivals()),
        "operators": [
            operator(name, draw(positive), share=draw(positive), servers=draw(st.sampled_from([1, 1, 1, 7])))
            for name in names
        ],
        "edges": [
            [one, other, draw(positive)]
            for i, one in enumerate(names)
            for other in names[i + 1 :]
            if draw(st.booleans())
        ],
        "model": draw(st.sampled_from(["map", "mg1", "kingman", "mmk", "gigk"])),
        "percentiles": draw(st.lists(st.floats(1, 99.99999999), max_size=3)),
    }


@given(cases())
def test_any_numbers_give_finite_times_or_are_refused(case: dict[str, Any]) -> None:
    try:
        answer = solved(**case)
    except ConfigError:
        return
    json.dumps(answer.as_json(), allow_nan=False)
    for figures in (*answer.operators.values(), *answer.paths.values()):
        # Just below full load, rounding leaves no digit of the response time: that counts as full.
        margin = figures.utilization - SATURATED
        assert margin < 1e-9 if figures.stable else margin > -1e-9
        assert all(time_s >= 0 for time_s in figures.times_s)


def test_a_queue_that_would_take_minutes_is_refused() -> None:
    """20 states x Erlang-128 took 108 s and gigabytes."""
    rates = np.ones((20, 20)) - 20 * np.eye(20)
    arrival = {"D0": (rates - 100 * np.eye(20)).tolist(), "D1": (100 * np.eye(20)).tolist()}
    with pytest.raises(ConfigError, match=r"^model: a queue of 2,560 phases.* is too large: one may have 1,024.*fewer"):
        solved(arrival=arrival, operators=[operator("a", 0.005, service={"type": "erlang", "phases": 128})])


def test_many_queues_that_would_take_minutes_together_are_refused() -> None:
    rates = np.ones((4, 4)) - 4 * np.eye(4)
    arrival = {"D0": (rates - 100 * np.eye(4)).tolist(), "D1": (100 * np.eye(4)).tolist()}
    service = {"type": "erlang", "phases": 128}
    fork = [operator(f"o{number}", 0.005 + 0.00001 * number, service=service) for number in range(100)]
    with pytest.raises(ConfigError, match=r"^model: .* and a network 4 of that size"):
        solved(arrival=arrival, operators=fork)
