from __future__ import annotations

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.paths import DATA

from mead.arrays import FloatArray
from mead.queueing import (
    MAP,
    PH,
    ReplayResponse,
    ServiceTimes,
    Window,
    fit_calibrated,
    map_ph_1_at_utilizations,
    prepare,
    replay_at_utilizations,
)
from mead.queueing.queues.map_ph_1 import MapPh1Response

BELLCORE = DATA / "bc-paug89.parquet"
JUDGED = (0.3, 0.5, 0.7, 0.8, 0.9)
"""None of them is a utilization that the fitter calibrates at."""


def relative_errors(model: MAP, window: FloatArray, service: PH) -> FloatArray:
    """Predicted over replayed mean response, minus 1; the service seeds are not those of the fit."""
    services = ServiceTimes.drawn(service, window.size, np.random.default_rng(12345))
    replayed = replay_at_utilizations(window, services, JUDGED)
    predicted = map_ph_1_at_utilizations(model, service, JUDGED)
    pairs = zip(predicted, replayed, strict=True)
    return np.array(
        [p.mean_s / r.mean_s - 1 for p, r in pairs if isinstance(p, MapPh1Response) and isinstance(r, ReplayResponse)]
    )


@pytest.fixture(scope="module")
def bellcore() -> FloatArray:
    if not BELLCORE.exists():
        pytest.skip(f"the Bellcore trace is not at {BELLCORE}")
    stamps = pq.read_table(BELLCORE)["timestamp_us"].to_numpy()
    return np.asarray(np.diff(stamps) / 1e6)


def test_the_queue_of_a_real_window_is_predicted(bellcore: FloatArray) -> None:
    window = bellcore[150_000:200_000]
    fit = fit_calibrated(window)
    assert [m.score for m in fit.models] == sorted(m.score for m in fit.models)
    assert np.median(np.abs(relative_errors(fit.models[0].map, window, PH.erlang(2, 1.0)))) < 0.08


def test_a_cliff_window_is_predicted_too(bellcore: FloatArray) -> None:
    """One block of twice the rate: evenly spaced references step over the jump and err by 100 % and more here."""
    window = bellcore[700_000:750_000]
    best = fit_calibrated(window).models[0].map
    assert np.abs(relative_errors(best, window, PH.erlang(2, 1.0))).max() < 0.45


def test_the_fit_carries_over_to_other_service_times(bellcore: FloatArray) -> None:
    window = bellcore[150_000:200_000]
    model = fit_calibrated(window, best=1).models[0].map
    for service in (PH.exponential(1.0), PH.erlang(4, 1.0), PH.with_moments(1.0, 4.0)):
        assert np.median(np.abs(relative_errors(model, window, service))) < 0.12


def test_a_known_process_is_recognised_by_its_queue() -> None:
    known = MAP.two_state(100.0, idc=30.0)
    sample = known.sample(200_000, np.random.default_rng(3))
    fitted = fit_calibrated(sample, best=1).models[0].map
    service = PH.erlang(2, 1.0)
    exact = map_ph_1_at_utilizations(known, service, JUDGED)
    found = map_ph_1_at_utilizations(fitted, service, JUDGED)
    for e, f in zip(exact, found, strict=True):
        assert isinstance(e, MapPh1Response)
        assert isinstance(f, MapPh1Response)
        # What one sample of this length can say about a utilization of .9 is itself 15 % off.
        assert f.mean_s == pytest.approx(e.mean_s, rel=0.25)


def test_the_same_seed_gives_the_same_models_and_the_unit_of_time_does_not_matter() -> None:
    iats = MAP.two_state(100.0, idc=20.0).sample(6000, np.random.default_rng(1))
    first, again, slower = fit_calibrated(iats), fit_calibrated(iats), fit_calibrated(iats * 1024.0)
    for a, b, c in zip(first.models, again.models, slower.models, strict=True):
        assert a.map.D0.tolist() == b.map.D0.tolist()
        np.testing.assert_allclose(c.map.D1 * 1024.0, a.map.D1, rtol=1e-9)


def test_best_n_models_are_different_and_sorted() -> None:
    iats = MAP.two_state(100.0, idc=20.0).sample(6000, np.random.default_rng(1))
    fit = fit_calibrated(iats, best=5)
    assert len({m.family for m in fit.models}) == 5
    assert [m.score for m in fit.models] == sorted(m.score for m in fit.models)


def test_a_warm_start_is_as_good_as_a_cold_one(bellcore: FloatArray) -> None:
    before = fit_calibrated(bellcore[100_000:150_000], best=1)
    window = bellcore[105_000:155_000]
    warm, cold = fit_calibrated(window, best=1, previous=before), fit_calibrated(window, best=1)
    assert warm.models[0].score < 1.1 * cold.models[0].score


def test_odd_windows_give_valid_models(odd_window: FloatArray) -> None:
    window = prepare(odd_window)
    assert isinstance(window, Window)
    for model in fit_calibrated(odd_window).models:  # a MAP validates itself
        assert model.map.rate_per_s == pytest.approx(window.rate_per_s, rel=1e-6)
        assert np.isfinite(model.score)


@settings(max_examples=30, deadline=None)
@given(
    values=st.lists(st.floats(0.0, 1e6, allow_subnormal=False), min_size=1, max_size=6),
    size=st.integers(0, 400),
    seed=st.integers(0, 5),
)
def test_any_mixture_of_values_gives_valid_models_or_a_note(values: list[float], size: int, seed: int) -> None:
    fit = fit_calibrated(np.random.default_rng(seed).choice(values, size=size), best=1)
    assert fit.size == size
    assert fit.models or fit.note


def test_no_models_are_a_request_that_makes_no_sense() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        fit_calibrated(np.ones(10), best=0)
