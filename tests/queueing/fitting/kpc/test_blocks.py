from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mead.queueing import MAP
from mead.queueing.fitting.kpc.blocks import (
    InfeasibleBlockError,
    block,
    block_with_moments,
    composed_kpc,
    largest_decay,
    regular_products,
)

shares = st.floats(0.0, 1.0)
decays = st.floats(0.0, 0.99999)


def second_eigenvalue(process: MAP) -> float:
    return float(np.trace(process.embedded_chain)) - 1.0


@given(mean=st.floats(1e-6, 1e3), scv=st.floats(1.0001, 1e3), third=st.floats(1e-4, 1e3), decay=decays)
def test_a_bursty_block_has_the_moments_and_the_decay_that_were_asked_for(
    mean: float, scv: float, third: float, decay: float
) -> None:
    second = (1 + scv) * mean**2
    moments = (mean, second, 1.5 * second**2 / mean * (1 + third))
    found = block_with_moments(moments, decay)
    assert [found.moment(k) for k in (1, 2, 3)] == pytest.approx(moments, rel=1e-9)
    assert second_eigenvalue(found) == pytest.approx(decay, abs=1e-9)
    assert np.count_nonzero(found.D0 - np.diag(np.diag(found.D0))) == 0


@given(scv=st.floats(0.5, 0.9999), slowness=shares, third=shares, mean=st.floats(1e-6, 1e3))
def test_a_regular_block_has_the_moments_and_the_decay_that_were_asked_for(
    scv: float, slowness: float, third: float, mean: float
) -> None:
    excess = np.array([(scv - 1) / 2])
    decay = slowness * largest_decay(excess)
    low, high = regular_products(excess, decay)
    product = float((low + third * (high - low))[0])
    h = float(excess[0])
    moments = (mean, 2 * (1 + h) * mean**2, 6 * ((1 + h) ** 2 + product * h) * mean**3)
    found = block_with_moments(moments, float(decay[0]))
    assert [found.moment(k) for k in (1, 2, 3)] == pytest.approx(moments, rel=1e-9)
    assert second_eigenvalue(found) == pytest.approx(float(decay[0]), abs=1e-9)


@given(rates=st.lists(st.floats(0.001, 1.0), min_size=6, max_size=6))
def test_no_two_state_map_lies_outside_the_stated_limits(rates: list[float]) -> None:
    """Any two-state MAP, written down at random: its numbers must be among those that ``block`` accepts."""
    a, b, c, d, e, f = (rate**4 for rate in rates)  # so that rates of very different size meet
    process = MAP([[-(a + c + d), a], [b, -(b + e + f)]], [[c, d], [e, f]])
    decay = second_eigenvalue(process)
    moments = (process.moment(1), process.moment(2), process.moment(3))
    assume(decay > 1e-6 and abs(process.scv - 1) > 1e-3)
    again = block_with_moments(moments, decay)
    assert again.moment(3) == pytest.approx(moments[2], rel=1e-6)
    lags = [1, 2, 5]
    assert again.acf(lags) == pytest.approx(process.acf(lags), abs=1e-8)


def test_the_largest_decay_is_reached_by_regular_maps_and_not_passed() -> None:
    """A random search over the acyclic form comes close to the limit from below."""
    rng = np.random.default_rng(5)
    reached = 0.0
    for fast, one, two in rng.random((20_000, 3)) ** 0.3:
        # Phase means 1 and `fast`; phase 1 sends with probability `one`, phase 2 stays with probability `two`.
        scale = 1 - one * two
        m1 = ((1 - two) + (1 - one) * fast) / scale
        m2 = ((1 - two) + (1 - one) * fast**2 + (1 - one) * (1 - two) * fast) / scale
        limit = float(largest_decay(np.array([m2 / m1**2 - 1]))[0])
        assert one * two <= limit + 1e-9
        if m2 / m1**2 < 0.99:
            reached = max(reached, one * two / limit)
    assert reached > 0.98


@pytest.mark.parametrize(
    ("excess", "decay", "product", "reason"),
    [
        (1.0, 0.5, 0.0, "1.5 E"),
        (1.0, 1.0, 1.0, r"\[0, 1\)"),
        (1.0, -0.1, 1.0, r"\[0, 1\)"),
        (-0.3, 0.0, 0.25, "at least 1/2"),
        (-0.25, 0.1, 0.25, "phase product must lie"),
        (-0.1, 0.1, 0.6, "phase product must lie"),
        (-0.1, 0.1, 0.3, "phase product must lie"),
    ],
)
def test_a_block_that_does_not_exist_is_refused_with_the_reason(
    excess: float, decay: float, product: float, reason: str
) -> None:
    with pytest.raises(InfeasibleBlockError, match=reason):
        block(excess, decay, product)


def test_a_third_moment_that_an_exponential_block_cannot_have_is_refused() -> None:
    with pytest.raises(InfeasibleBlockError, match="third moment 6"):
        block_with_moments((1.0, 2.0, 7.0), 0.5)


@given(
    first=st.floats(-0.2, 3.0),
    others=st.lists(st.floats(0.01, 3.0), max_size=3),
    slowness=st.lists(st.floats(0.0, 0.999), min_size=4, max_size=4),
    places=st.lists(shares, min_size=4, max_size=4),
)
def test_the_product_of_blocks_obeys_the_kpc_identities(
    first: float, others: list[float], slowness: list[float], places: list[float]
) -> None:
    assume(abs(first) > 1e-3)
    excess = np.array([first, *others])
    decay = np.array(slowness[: excess.size]) * largest_decay(excess)
    low, high = regular_products(excess, decay)
    place = np.array(places[: excess.size])
    product = np.where(excess < 0, low + place * (high - low), 0.05 + 5 * place)
    whole = composed_kpc(excess, decay, product)
    assert whole.states == 2**excess.size
    assert whole.moment(1) == pytest.approx(1.0, rel=1e-9)
    assert whole.scv == pytest.approx(2 * np.prod(1 + excess) - 1, rel=1e-8)
    assert whole.moment(3) == pytest.approx(6 * np.prod((1 + excess) ** 2 + product * excess), rel=1e-8)
    lags = np.array([1, 2, 7, 50])
    expected = (np.prod(1 + excess[:, None] * decay[:, None] ** lags, axis=0) - 1) / whole.scv
    assert whole.acf(lags) == pytest.approx(expected, abs=1e-9)
