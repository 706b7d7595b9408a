from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.paths import DATA

from mead.arrays import FloatArray
from mead.queueing import (
    MAP,
    PH,
    QueueSolution,
    ResponseTime,
    ServiceTimes,
    Unstable,
    Window,
    WindowFit,
    acf,
    fit_kpc,
    map_ph_1_at_utilizations,
    prepare,
    replay_at_utilizations,
    scv,
)
from mead.queueing.fitting.kpc.blocks import composed_kpc

BELLCORE = DATA / "bc-paug89.parquet"


def fit(iats: FloatArray, *, best: int = 5, blocks: int | None = None) -> WindowFit:
    return fit_kpc(iats, best=best, rng=np.random.default_rng(0), blocks=blocks)


JUDGED = (0.5, 0.7, 0.8)
SERVICE = PH.erlang(2, 1.0)


def responses(model: MAP) -> FloatArray:
    """Mean response times at the judged utilizations, in mean IATs."""
    return np.array([stable(s).mean_s for s in map_ph_1_at_utilizations(model.with_rate(1.0), SERVICE, JUDGED)])


def stable(solution: QueueSolution) -> ResponseTime:
    assert not isinstance(solution, Unstable)
    return solution


def exponential(size: int, seed: int = 7) -> FloatArray:
    return np.random.default_rng(seed).exponential(0.01, size)


KNOWN = composed_kpc(np.array([0.9, 0.8]), np.array([0.7, 0.99]), np.array([1.0, 0.7]))


def test_a_known_kpc_map_is_found_again_within_statistical_error() -> None:
    lags = [1, 3, 10, 30, 100, 300]
    samples = [KNOWN.sample(100_000, np.random.default_rng(seed)) for seed in range(12)]
    models = [fit(sample, best=1, blocks=2).models[0].map for sample in samples[:3]]
    curves = np.array([acf(sample, lags) for sample in samples])
    for model in models:
        assert np.all(np.abs(model.acf(lags) - KNOWN.acf(lags)) < 4 * curves.std(axis=0))
        assert abs(model.scv - KNOWN.scv) < 4 * np.std([scv(sample) for sample in samples])
        assert model.moment(3) == pytest.approx(KNOWN.moment(3), rel=0.5)


def test_blocks_that_a_known_kpc_map_does_not_have_leave_its_queue_as_it_is() -> None:
    """Four states generate the arrivals; the fit may use sixteen, and predicts the exact response of the four."""
    iats = KNOWN.sample(50_000, np.random.default_rng(4))
    exact, *fitted = (responses(model) for model in (KNOWN, *(m.map for m in fit(iats, best=2).models)))
    for predicted in fitted:
        assert predicted == pytest.approx(exact, rel=0.35)
    assert responses(fit(iats, best=1, blocks=1).models[0].map)[1] < 0.02 * exact[1]  # two states are too few


def test_the_rate_of_every_model_is_that_of_the_window() -> None:
    iats = KNOWN.sample(5000, np.random.default_rng(1))
    for model in fit(iats).models:
        assert model.map.rate_per_s == pytest.approx(1 / iats.mean(), rel=1e-9)


def test_models_come_best_first_and_no_more_than_asked_for() -> None:
    iats = np.random.default_rng(3).pareto(1.1, 5000)  # its SCV and its autocorrelation are at odds: several optima
    many = fit(iats, best=5, blocks=1)
    assert 2 <= len(many.models) <= 5
    scores = [model.score for model in many.models]
    assert scores == sorted(scores)
    assert len(fit(iats, best=1, blocks=1).models) == 1


def test_the_same_seed_gives_the_same_models() -> None:
    iats = KNOWN.sample(5000, np.random.default_rng(4))
    for one, two in zip(fit(iats).models, fit(iats).models, strict=True):
        assert one.map.D0.tolist() == two.map.D0.tolist()
        assert one.map.D1.tolist() == two.map.D1.tolist()
        assert one.score == two.score


@pytest.mark.parametrize("unit", [1e-6, 1e3])
def test_the_unit_of_time_does_not_matter(unit: float) -> None:
    iats = KNOWN.sample(5000, np.random.default_rng(5))
    plain, scaled = fit(iats), fit(iats * unit)
    for one, two in zip(plain.models, scaled.models, strict=True):
        assert two.score == pytest.approx(one.score, rel=1e-3)
        assert two.map.D0 * unit == pytest.approx(one.map.D0, rel=1e-2, abs=1e-6)


@pytest.mark.parametrize("iats", [np.array([]), np.array([1.0]), np.zeros(1000), np.array([np.nan, -1.0, 2.0])])
def test_without_two_arrivals_apart_there_is_no_model_and_the_note_says_so(iats: FloatArray) -> None:
    found = fit(iats)
    assert found.models == ()
    assert "nothing to fit" in found.note


def test_few_iats_give_a_poisson_model_and_the_note_says_so() -> None:
    iats = exponential(199)
    found = fit(iats)
    assert [model.map.states for model in found.models] == [1]
    assert found.models[0].map.rate_per_s == pytest.approx(1 / iats.mean())
    assert "too few" in found.note


def test_values_that_are_no_iats_are_left_out() -> None:
    iats = exponential(1000)
    spoilt = np.concatenate([iats, [np.nan, np.inf, -1.0]])
    found = fit(spoilt)
    assert (found.size, found.used) == (1003, 1000)
    assert "3 IATs" in found.note
    assert found.models[0].map.D0.tolist() == fit(iats).models[0].map.D0.tolist()


def test_a_mean_that_underflows_is_said_to_be_a_matter_of_the_unit() -> None:
    found = fit(exponential(300) * 1e-300)
    assert found.models == ()
    assert "check the unit" in found.note


def test_constant_iats_become_the_most_regular_kpc_model() -> None:
    found = fit(np.full(1000, 0.25))
    assert found.models[0].map.rate_per_s == pytest.approx(4.0)
    assert found.models[0].map.scv == pytest.approx(0.5)
    assert "below 0.5" in found.note


@pytest.mark.parametrize("blocks", [None, 1, 2, 4])
def test_odd_windows_give_valid_models(odd_window: FloatArray, blocks: int | None) -> None:
    window = prepare(odd_window)
    assert isinstance(window, Window)
    found = fit(odd_window, blocks=blocks)
    assert found.models  # a MAP validates itself
    for model in found.models:
        assert model.map.rate_per_s == pytest.approx(window.rate_per_s, rel=1e-6)
        assert np.isfinite(model.score)
        assert np.isfinite(model.map.scv)
        assert model.map.scv > 0.49
        assert np.all(np.abs(model.map.acf([1, 10])) <= 1)


@settings(max_examples=40)
@given(
    values=st.lists(st.floats(0.0, 1e6, allow_subnormal=False), min_size=1, max_size=6),
    size=st.integers(0, 400),
    seed=st.integers(0, 5),
)
def test_any_mixture_of_values_gives_valid_models_or_a_note(values: list[float], size: int, seed: int) -> None:
    iats = np.random.default_rng(seed).choice(values, size=size)
    found = fit(iats)
    assert found.size == size
    assert found.models or found.note


@pytest.mark.parametrize("arguments", [{"best": 0}, {"blocks": 0}, {"max_states": 1}])
def test_impossible_requests_are_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="at least"):
        fit_kpc(exponential(300), rng=np.random.default_rng(0), **arguments)


@pytest.mark.skipif(not BELLCORE.exists(), reason=f"the Bellcore trace is not at {BELLCORE}")
def test_the_end_of_the_bellcore_trace_gets_several_models_of_its_slow_bursts() -> None:
    """With the published order one model of two states came back, whose response was a twelfth of the replayed one."""
    import pyarrow.parquet as pq

    iats = np.diff(pq.read_table(BELLCORE)["timestamp_us"].to_numpy()[-50_001:]) / 1e6
    found = fit(iats)
    assert len(found.models) >= 3
    assert found.models[0].map.states == 16
    services = ServiceTimes.drawn(SERVICE, iats.size, np.random.default_rng(1))
    replayed = np.array([stable(s).mean_s for s in replay_at_utilizations(iats / iats.mean(), services, JUDGED)])
    best = responses(found.models[0].map) / replayed
    worst = np.max([responses(model.map) for model in found.models], axis=0) / replayed
    assert np.all((best > 1 / 3) & (best < 3))
    assert np.all(worst > 0.9)
