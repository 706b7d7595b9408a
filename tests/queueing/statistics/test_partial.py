"""A trace in parts says the same as the trace in one piece, and that is what it says in memory."""

from __future__ import annotations

import json
from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mead.arrays import FloatArray
from mead.queueing import MAP, Characteristics, Frame, Partial, acf, hurst, idc, lags_of, scv, spans_of

whole_microseconds = st.lists(st.integers(0, 3_000_000), min_size=1, max_size=400).map(lambda us: np.array(us) / 1e6)
anything = st.lists(st.floats(0, 1e3, width=32), min_size=1, max_size=400).map(np.array)
silences = st.integers(50, 400).map(lambda n: np.where(np.arange(n) % 97 == 50, 1e5, 1e-3 * (1 + np.arange(n) % 7)))


def sent(partial: Partial) -> Partial:
    """As it comes out at the other end of a wire."""
    return Partial.from_json(json.loads(json.dumps(partial.as_json())))


def in_parts(iats_s: FloatArray, cuts: list[int]) -> Characteristics:
    end_s = float(iats_s.sum())
    frame = Frame(iats_s.size, end_s)
    ages_s = end_s - np.cumsum(iats_s)
    ages_s[-1] = 0.0
    edges = [0, *sorted(cuts), iats_s.size]
    parts = [
        sent(Partial.of(frame, iats_s[start:end], ages_s[start:end], iats_s[:start])) for start, end in pairwise(edges)
    ]
    return Characteristics.of(frame, reduce(Partial.then, parts, Partial()))


def test_parts_say_what_the_statistics_in_memory_say() -> None:
    iats_s = MAP.two_state(100.0, idc=50.0).sample(120_000, np.random.default_rng(1)).round(6)
    found = in_parts(iats_s, [1, 2, 5_000, 5_001, 5_001, 60_000, 119_999])
    lags, spans_s = lags_of(iats_s.size), spans_of(iats_s.size, float(iats_s.sum()))
    assert len(lags) == len(found.acf) == 13
    assert len(spans_s) == len(found.idc) > 5
    assert found.events == 120_001
    assert found.rate_per_s == pytest.approx(1 / iats_s.mean(), rel=1e-12)
    assert found.scv == pytest.approx(scv(iats_s), rel=1e-12)
    assert list(found.acf.values()) == pytest.approx(acf(iats_s, lags).tolist(), rel=1e-9)
    assert list(found.idc.values()) == pytest.approx(idc(iats_s, spans_s).tolist(), rel=1e-12)
    assert found.hurst == hurst(iats_s)
    assert found.reasons == {}


@given(st.one_of(whole_microseconds, anything, silences), st.data())
def test_any_split_says_the_same(iats_s: FloatArray, data: Any) -> None:
    cuts = data.draw(st.lists(st.integers(0, iats_s.size), max_size=8))
    one, many = in_parts(iats_s, []), in_parts(iats_s, cuts)
    assert (one.events, one.duration_s, one.rate_per_s) == (many.events, many.duration_s, many.rate_per_s)
    assert one.idc == many.idc
    assert one.hurst == many.hurst
    assert one.reasons == many.reasons
    numbers = [(one.scv, many.scv), *((one.acf[lag], many.acf[lag]) for lag in one.acf)]
    for here, there in numbers:
        assert (here is None) == (there is None)
        assert here is None or here == pytest.approx(there, rel=1e-9, abs=1e-13)


@given(st.one_of(whole_microseconds, silences))
def test_short_traces_say_what_they_say_in_memory(iats_s: FloatArray) -> None:
    found = in_parts(iats_s, [iats_s.size // 3])
    assert list(found.idc.values()) == pytest.approx(idc(iats_s, list(found.idc)).tolist(), rel=1e-9)
    if iats_s.any():
        assert found.scv == pytest.approx(scv(iats_s), rel=1e-9)
    if "acf" not in found.reasons:
        assert list(found.acf.values()) == pytest.approx(acf(iats_s, list(found.acf)).tolist(), rel=1e-9, abs=1e-12)


def test_equal_iats_have_no_correlation_and_say_so() -> None:
    found = in_parts(np.full(5_000, 0.1), [10, 100])
    assert found.scv == 0.0
    assert set(found.acf.values()) == {None}
    assert "all inter-arrival times are equal" in found.reasons["acf"]
    assert found.hurst is None
    assert "too regular" in found.reasons["hurst"]


def test_a_trace_without_duration_has_no_rate() -> None:
    found = in_parts(np.zeros(100), [10])
    assert (found.rate_per_s, found.scv, found.idc, found.hurst) == (None, None, {}, None)
    assert set(found.reasons) == {"rate_per_s", "scv", "acf", "idc", "hurst"}


def test_one_iat_is_a_trace() -> None:
    found = in_parts(np.array([2.0]), [])
    assert (found.events, found.rate_per_s, found.scv, found.acf, found.idc) == (2, 0.5, 0.0, {}, {})


def test_a_small_variance_beside_a_large_mean_keeps_its_digits() -> None:
    iats_s = 1e6 + np.random.default_rng(1).random(50_000)
    found = in_parts(iats_s, list(range(0, 50_000, 700)))
    assert found.scv == pytest.approx(scv(iats_s), rel=1e-9)
    assert found.acf[1] == pytest.approx(acf(iats_s, [1])[0], rel=1e-6)


def test_a_missing_part_is_noticed() -> None:
    frame = Frame(10, 10.0)
    with pytest.raises(ValueError, match="the parts have 4 IATs and the trace has 10"):
        Characteristics.of(frame, Partial.of(frame, np.ones(4), np.arange(9.0, 5.0, -1), np.zeros(0)))
