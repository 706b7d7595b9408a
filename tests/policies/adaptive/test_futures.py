from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
import pytest

from mead.arrays import FloatArray
from mead.policies.adaptive.lookahead import LEAST_TO_FIT, REFIT_S, SAMPLED_S, Futures
from mead.queueing import MAP
from mead.values import COUNT_BIN_S, Observation

if TYPE_CHECKING:
    from tests.policies.conftest import Describer, Observer

PAST = np.arange(50.0)
Seer = Literal["replay", "map", "both"]


@pytest.fixture(scope="module")
def iats_s() -> FloatArray:
    return MAP.two_state(rate_per_s=300.0, idc=20.0).sample(12_000, np.random.default_rng(2))


@pytest.fixture(scope="module")
def seen(observed: Observer, log_analysis: Describer, iats_s: FloatArray) -> Observation:
    return observed(log_analysis(), iats_s=iats_s)


def test_the_past_alone_is_replayed_as_it_was(seen: Observation) -> None:
    (course,) = Futures("replay", 10_000).courses(seen, PAST)
    assert course is PAST


def test_a_sample_has_the_rate_and_the_bursts_of_the_window(seen: Observation, iats_s: FloatArray) -> None:
    (course,) = Futures("map", 12_000).courses(seen, PAST)
    assert course.size * COUNT_BIN_S == pytest.approx(SAMPLED_S)
    assert course.mean() / COUNT_BIN_S == pytest.approx(iats_s.size / iats_s.sum(), rel=0.05)
    arrived = np.bincount((np.cumsum(iats_s) / COUNT_BIN_S).astype(int))
    assert course.var() / course.mean() == pytest.approx(arrived.var() / arrived.mean(), rel=0.35)
    assert course.var() / course.mean() > 3  # a Poisson process has 1


def test_both_are_two_courses(seen: Observation) -> None:
    past, sampled = Futures("both", 12_000).courses(seen, PAST)
    assert past is PAST
    assert sampled.sum() > 1000


@pytest.mark.parametrize("kind", ["map", "both"])
def test_too_few_arrivals_are_no_model(kind: Seer, observed: Observer, log_analysis: Describer) -> None:
    few = observed(log_analysis(), iats_s=np.full(LEAST_TO_FIT - 1, 0.003))
    (course,) = Futures(kind, 50_000).courses(few, PAST)
    assert course is PAST


def test_the_same_window_brings_the_same_futures(seen: Observation) -> None:
    first, second = (Futures("map", 12_000) for _ in range(2))
    for _ in range(2):
        (one,), (other,) = first.courses(seen, PAST), second.courses(seen, PAST)
        assert one.tolist() == other.tolist()


def test_a_model_is_fitted_anew_only_after_a_while(
    observed: Observer, log_analysis: Describer, iats_s: FloatArray
) -> None:
    futures = Futures("map", 12_000)

    def rate_per_s(time_s: float, factor: float) -> float:
        seen = observed(log_analysis(), iats_s=iats_s / factor, time_s=time_s)
        (course,) = futures.courses(seen, PAST)
        return float(course.mean() / COUNT_BIN_S)

    at_first = rate_per_s(600.0, 1.0)
    assert rate_per_s(600.0 + REFIT_S - 1, 2.0) == pytest.approx(at_first, rel=0.1)
    assert rate_per_s(600.0 + REFIT_S, 2.0) == pytest.approx(2 * at_first, rel=0.1)
