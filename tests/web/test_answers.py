from __future__ import annotations

import json
from itertools import pairwise
from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.web import runs

from mead.queueing import MAP
from mead.values import Allocation, Operator, Pipeline, Requirement, Resources
from mead.web.answers import LEAST_FITTED, arrivals, frontier, prediction, workload
from mead.web.question import BOUND_FACTORS, DISPERSIONS, RATES_PER_S, Question

ONE = Pipeline("one", [Operator("a", 0.001, scv=1.0)], requirements=[Requirement("a", 0.01)])


def any_size(bounds: tuple[float, float]) -> st.SearchStrategy[float]:
    """Small numbers as often as large ones."""
    least, most = bounds
    return st.floats(0.0, 1.0).map(lambda part: min(most, least * (most / least) ** part))


def question(rate_per_s: float, idc: float, share: float, factor: float = 1.0) -> Question:
    return Question(rate_per_s, idc, factor, Allocation.of(a=Resources(share)))


@given(any_size(RATES_PER_S), any_size(DISPERSIONS))
@settings(max_examples=50)
def test_arrivals_have_the_rate_and_the_dispersion_that_are_asked_for(rate_per_s: float, idc: float) -> None:
    process = arrivals(rate_per_s, idc)
    assert process.rate_per_s == pytest.approx(rate_per_s, rel=1e-6)
    assert process.idc_limit == pytest.approx(idc, rel=1e-4)


@pytest.mark.parametrize("share", [0.7, 0.85, 1.0])
def test_poisson_arrivals_at_an_exponential_server_answer_as_m_m_1(share: float) -> None:
    rate_per_s, speed_per_s = 500.0, share / 0.001
    path = prediction(ONE, question(rate_per_s, 1.0, share))["paths"]["a"]
    mean_s = 1 / (speed_per_s - rate_per_s)
    assert path["mean_s"] == pytest.approx(mean_s, rel=1e-6)
    for percent in (50, 95, 99):
        assert path[f"p{percent}_s"] == pytest.approx(-log(1 - percent / 100) * mean_s, rel=1e-5)
    assert path["utilization"] == pytest.approx(rate_per_s / speed_per_s)


def test_bursts_make_it_longer_and_overload_is_no_number() -> None:
    means_s = [prediction(ONE, question(500.0, idc, 1.0))["paths"]["a"]["mean_s"] for idc in (1.0, 5.0, 50.0, 500.0)]
    assert means_s == sorted(means_s)
    assert means_s[-1] > 20 * means_s[0]
    overloaded = prediction(ONE, question(1100.0, 5.0, 1.0))
    assert not overloaded["met"]
    assert overloaded["paths"]["a"] == {"stable": False, "utilization": pytest.approx(1.1)}
    assert overloaded["requirements"][0]["predicted_s"] is None


def test_whether_it_is_met_follows_the_bound() -> None:
    tight, loose = (prediction(ONE, question(500.0, 20.0, 1.0, factor)) for factor in (0.1, 20.0))
    assert (tight["met"], loose["met"]) == (False, True)
    assert tight["paths"] == loose["paths"]


def test_the_frontier_falls_and_is_the_cheapest_by_brute_force() -> None:
    found = frontier(ONE, question(400.0, 5.0, 1.0))
    cores = [point["cores"] for point in found["points"]]
    assert found["search"] == "exact"
    met = [point for point in found["points"] if point["met"]]
    assert all(before["cores"] >= after["cores"] for before, after in pairwise(met))
    assert len(set(cores)) > 1
    for point in met:
        enough = [s for s in ONE.operators[0].shares if _met(s, point["factor"])]
        assert point["cores"] == min(enough)


def _met(share: float, factor: float) -> bool:
    return bool(prediction(ONE, question(400.0, 5.0, share, factor))["met"])


shares = st.sampled_from(runs.PIPELINE.operators[0].shares)


@given(any_size(RATES_PER_S), any_size(DISPERSIONS), any_size(BOUND_FACTORS), st.tuples(shares, shares, shares))
@settings(max_examples=40)
def test_whatever_may_be_asked_is_answered_in_numbers(
    rate_per_s: float, idc: float, factor: float, held: tuple[float, float, float]
) -> None:
    names = ("parser", "counter", "matcher")
    allocation = Allocation.of({name: Resources(share) for name, share in zip(names, held, strict=True)})
    found = prediction(runs.PIPELINE, Question(rate_per_s, idc, factor, allocation))
    json.dumps(found, allow_nan=False)
    for path, response in found["paths"].items():
        services_s = [runs.PIPELINE.operator(name).demand_s / allocation[name].cores for name in path.split(">")]
        busiest = rate_per_s * max(services_s)
        assert response["stable"] == (busiest < 1 - 1e-5)
        if response["stable"]:
            assert response["utilization"] == pytest.approx(busiest)
            assert response["mean_s"] >= sum(services_s) * (1 - 1e-6)
            assert response["p50_s"] <= response["p95_s"] <= response["p99_s"]


def test_without_a_requirement_there_is_no_frontier() -> None:
    free = Pipeline("free", ONE.operators)
    assert frontier(free, question(400.0, 5.0, 1.0))["points"] == []


def test_the_workload_stands_beside_its_model() -> None:
    process = MAP.two_state(rate_per_s=200.0, idc=30.0)
    found = workload(process.sample(12_000, np.random.default_rng(3)))
    assert found["trace"]["rate_per_s"] == pytest.approx(found["fitted"]["rate_per_s"], rel=0.01)
    assert set(found["trace"]["idc"]) == set(found["fitted"]["idc"])
    longest = list(found["trace"]["idc"])[-1]
    assert found["fitted"]["idc"][longest] == pytest.approx(found["trace"]["idc"][longest], rel=0.5)
    assert not found["drift"]["drifted"]


def test_a_rate_that_doubles_is_a_drift() -> None:
    rng = np.random.default_rng(4)
    drift = workload(np.r_[rng.exponential(0.02, 4000), rng.exponential(0.01, 8000)])["drift"]
    assert drift["younger_per_s"] > 1.5 * drift["older_per_s"]
    assert drift["drifted"]


def test_too_few_arrivals_are_said_to_be_too_few() -> None:
    assert "too few" in workload(np.ones(LEAST_FITTED - 1))["note"]
    assert "too few" in workload(np.zeros(1000))["note"]
