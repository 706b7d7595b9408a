"""The report of a fit: statistics of window and model side by side, and the response times behind both."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np
import pytest

from mead.arrays import FloatArray
from mead.queueing import MAP, PH, acf, map_ph_1, scv
from mead.reports.models.fit_report import UTILIZATIONS, Statistics, WindowReport, report_fits
from mead.workload import Trace


def ticking() -> Callable[[], float]:
    """A clock that is a quarter of a second later at every look."""
    ticks = count()
    return lambda: 0.25 * next(ticks)


def reports(iats_s: FloatArray, *sizes: int, best: int = 2) -> list[WindowReport]:
    trace = Trace.from_iats_s(iats_s)
    return list(report_fits(trace, sizes, fitter="calibrated", best=best, seed=0, clock=ticking()))


def as_json(report: WindowReport) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(json.dumps(report.as_json(), allow_nan=False))
    return document


@pytest.fixture(scope="module")
def bursty() -> FloatArray:
    return MAP.two_state(rate_per_s=100.0, idc=50.0).sample(12_000, np.random.default_rng(1))


@pytest.fixture(scope="module")
def report(bursty: FloatArray) -> WindowReport:
    return reports(bursty, 10_000)[0]


def test_document_has_the_keys_of_the_contract(report: WindowReport) -> None:
    document = as_json(report)
    assert {"size", "seconds", "maps", "trace", "fitted"} <= set(document)
    assert (document["size"], document["used"], document["seconds"]) == (10_000, 10_000, 0.25)
    assert len(document["maps"]) == 2
    for model in document["maps"]:
        assert {"D0", "D1", "states", "score"} <= set(model)
        assert MAP(model["D0"], model["D1"]).states == model["states"]
    for side in ("trace", "fitted"):
        assert {"rate_per_s", "scv", "acf", "idc"} <= set(document[side])
    assert (
        list(document["trace"]["acf"])
        == list(document["fitted"]["acf"])
        == [*("1", "2", "5", "10", "20", "50", "100", "200", "500", "1000")]
    )
    assert list(document["trace"]["idc"]) == list(document["fitted"]["idc"]) == ["0.1", "0.2", "0.5", "1", "2"]


def test_statistics_are_those_of_the_end_of_the_trace(bursty: FloatArray, report: WindowReport) -> None:
    window, trace = bursty[-10_000:], as_json(report)["trace"]
    assert trace["rate_per_s"] == pytest.approx(1 / window.mean())
    assert trace["scv"] == pytest.approx(scv(window))
    assert trace["acf"]["10"] == pytest.approx(acf(window, [10])[0])
    assert as_json(report)["span_s"] == pytest.approx(window.sum())


def test_fitted_statistics_are_those_of_the_best_model(report: WindowReport) -> None:
    document = as_json(report)
    best = MAP(document["maps"][0]["D0"], document["maps"][0]["D1"])
    assert document["fitted"]["scv"] == pytest.approx(best.scv)
    assert document["fitted"]["acf"]["100"] == pytest.approx(best.acf([100])[0])
    assert document["fitted"]["idc"]["0.5"] == pytest.approx(best.idc(0.5)[0])
    assert document["fitted"]["idc_limit"] == pytest.approx(best.idc_limit)
    scores = [model["score"] for model in document["maps"]]
    assert scores == sorted(scores)


def test_predicted_response_is_that_of_the_best_model(report: WindowReport) -> None:
    document = as_json(report)
    best = MAP(document["maps"][0]["D0"], document["maps"][0]["D1"])
    assert [entry["utilization"] for entry in document["response"]] == list(UTILIZATIONS)
    for entry in document["response"]:
        queue = map_ph_1(best, PH.erlang(2, entry["mean_service_s"]))
        assert queue.utilization == pytest.approx(entry["utilization"])
        assert entry["fitted"]["mean_s"] == pytest.approx(queue.mean_s, rel=1e-6)  # type: ignore[union-attr]
        assert entry["fitted"]["p95_s"] == pytest.approx(queue.percentile_s(95), rel=1e-6)  # type: ignore[union-attr]


def test_replayed_response_shows_the_bursts_that_the_simple_models_miss(report: WindowReport) -> None:
    at = {entry["utilization"]: entry for entry in as_json(report)["response"]}[0.7]
    assert at["replayed"]["mean_s"] > 5 * at["kingman"]["mean_s"] > 5 * at["mg1"]["mean_s"]
    assert at["fitted"]["mean_s"] == pytest.approx(at["replayed"]["mean_s"], rel=0.5)


def test_replay_of_smooth_arrivals_is_m_g_1() -> None:
    poisson = MAP.poisson(50.0).sample(20_000, np.random.default_rng(2))
    for entry in as_json(reports(poisson, 20_000)[0])["response"][:3]:
        assert entry["replayed"]["mean_s"] == pytest.approx(entry["mg1"]["mean_s"], rel=0.05)


def test_cut_window_is_compared_by_the_part_that_the_models_describe(bursty: FloatArray) -> None:
    document = as_json(reports(np.concatenate([bursty[:4_000], bursty[4_000:8_000] / 8]), 8_000)[0])
    assert document["used"] == pytest.approx(4_000, rel=0.05)
    assert "jumped" in document["note"]
    assert document["trace"]["rate_per_s"] < 0.5 * document["fitted"]["rate_per_s"]
    assert document["trace_used"]["rate_per_s"] == pytest.approx(document["fitted"]["rate_per_s"], rel=1e-3)
    at = document["response"][0]
    assert at["mean_service_s"] * document["trace_used"]["rate_per_s"] == pytest.approx(at["utilization"])


def test_whole_window_is_not_reported_twice(report: WindowReport) -> None:
    assert as_json(report)["trace_used"] is None


def test_window_without_a_model_has_nulls_and_a_note() -> None:
    document = as_json(reports(np.zeros(20), 10)[0])
    assert document["maps"] == document["response"] == []
    assert document["fitted"] is None
    assert document["trace"] == {"rate_per_s": None, "scv": None, "acf": {}, "idc": {}}
    assert "nothing to fit" in document["note"]


@pytest.mark.parametrize(
    "iats_s",
    [
        np.array([1.0]),
        np.array([1.0, 2.0]),
        np.array([0.0, 0.0, 1e-6]),
        np.full(300, 0.01),
        np.full(5_000, 1e3),
        np.concatenate([np.zeros(3_000), np.full(3_000, 1e-6)]),
        np.concatenate([np.full(500, 0.01), [1e6], np.full(500, 0.01)]),
        np.random.default_rng(1).exponential(1e-6, 3_000),
        np.random.default_rng(1).pareto(1.1, 3_000),
        np.repeat([0.001, 1.0], 1_500),
    ],
    ids=["one", "two", "zeros", "constant", "slow", "half zeros", "gap", "microseconds", "heavy tail", "level shift"],
)
def test_odd_windows_have_strict_json(iats_s: FloatArray) -> None:
    document = as_json(reports(iats_s, iats_s.size)[0])
    assert document["size"] == iats_s.size
    assert bool(document["maps"]) == (document["fitted"] is not None) == bool(document["response"])
    assert document["maps"] or document["note"]


def test_statistics_of_a_poisson_process_are_known() -> None:
    poisson = Statistics.of_map(MAP.poisson(3.0), [1, 5], [0.1, 10.0])
    assert poisson.rate_per_s == pytest.approx(3.0)
    assert poisson.scv == pytest.approx(1.0)
    assert poisson.acf == {1: pytest.approx(0.0), 5: pytest.approx(0.0)}
    assert poisson.idc == {0.1: pytest.approx(1.0), 10.0: pytest.approx(1.0)}
    assert poisson.idc_limit == pytest.approx(1.0)
