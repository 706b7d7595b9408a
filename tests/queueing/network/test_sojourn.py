from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import gamma

from mead.queueing import MAP, PH, Part, Stream
from mead.queueing.network.sojourn import Response, Sojourn
from mead.queueing.network.stations import Source

PERCENTS = (0.001, 1.0, 50.0, 90.0, 95.0, 99.0, 99.99)
FARTHEST = 99.9999999999


def erlang(phases: int, mean_s: float) -> Sojourn:
    return Sojourn((Part.of_service(PH.erlang(phases, mean_s)),))


@pytest.mark.parametrize("percent", PERCENTS)
def test_equal_exponential_times_add_up_to_an_erlang(percent: float) -> None:
    three = Response(0.0, (erlang(1, 2.0),) * 3)
    assert three.percentile_s(percent) == pytest.approx(2.0 * gamma.ppf(percent / 100, 3), rel=1e-3)


def test_the_far_tail_goes_on_as_it_began() -> None:
    three = Response(0.0, (erlang(1, 2.0),) * 3)
    assert three.percentile_s(FARTHEST) == pytest.approx(2.0 * gamma.isf(1 - FARTHEST / 100, 3), rel=0.005)


@pytest.mark.parametrize("percent", PERCENTS[1:])
def test_a_time_of_next_to_nothing_changes_next_to_nothing(percent: float) -> None:
    alone, together = Response(0.0, (erlang(2, 1.0),)), Response(0.0, (erlang(2, 1.0), erlang(2, 1e-6)))
    assert together.percentile_s(percent) == pytest.approx(alone.percentile_s(percent), rel=1e-4)


@given(st.floats(1e-6, 1e6), st.floats(0.01, 100.0), st.integers(1, 4))
def test_percentiles_scale_with_the_unit_of_time(unit_s: float, ratio: float, phases: int) -> None:
    seconds = Response(0.0, (erlang(phases, 1.0), erlang(1, ratio)))
    others = Response(0.0, (erlang(phases, unit_s), erlang(1, ratio * unit_s)))
    assert others.percentile_s(95) == pytest.approx(unit_s * seconds.percentile_s(95), rel=1e-9)


@given(st.floats(0.05, 20.0), st.lists(st.floats(0.5, 99.9), min_size=2, max_size=5))
def test_percentiles_rise_with_the_percentage(ratio: float, percents: list[float]) -> None:
    values = Response(0.0, (erlang(2, 1.0), erlang(1, ratio))).percentiles_s(sorted(percents))
    assert values == sorted(values)


def test_a_batch_waits_as_pollaczek_and_khinchine_say() -> None:
    source = Source(MAP.poisson(0.5))
    wait = source.alone([source.station(PH.exponential(0.5), Stream(keep=1.0, batch=2.0))])[0].parts[0]
    two_services = PH.erlang(2, 1.0)
    assert wait.mean_s == pytest.approx(0.5 * two_services.moment(2) / (2 * (1 - 0.5)), rel=1e-9)
    # A batch waits if it meets a busy server.
    assert float((wait.b @ wait.e).sum()) == pytest.approx(0.5, rel=1e-9)


def test_times_that_share_a_depth_are_long_together() -> None:
    """Short at one depth and long at the other: the sum is spread wider than if the two were independent."""
    slow_or_quick = Part(np.array([0.5, 0.5]), np.diag([-1.0, -0.1]), np.eye(2), np.array([0.5, 0.5]))
    unaware = Part(slow_or_quick.b, slow_or_quick.K, slow_or_quick.e.sum(axis=1, keepdims=True), np.ones(1))
    first = Sojourn((unaware,))
    together = Response(0.0, (first, Sojourn((slow_or_quick,))))
    independent = Response(0.0, (first, Sojourn((unaware,))))
    assert together.mean_s == pytest.approx(independent.mean_s)
    assert together.percentile_s(99) > 1.05 * independent.percentile_s(99)
    assert together.percentile_s(25) < 0.9 * independent.percentile_s(25)


@pytest.mark.parametrize("percent", [0.0, 100.0, -5.0])
def test_a_percentile_lies_between_0_and_100(percent: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 100"):
        Response(0.0, (erlang(1, 1.0),)).percentile_s(percent)


@pytest.mark.parametrize("count", [9, 100, 200])
def test_a_sum_of_many_times_keeps_its_spread(count: int) -> None:
    many = Response(0.0, (erlang(2, 1.0),) * count)
    for percent in (50.0, 95.0, 99.0):
        assert many.percentile_s(percent) == pytest.approx(gamma.ppf(percent / 100, 2 * count, scale=0.5), rel=4e-3)
