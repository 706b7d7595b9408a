"""Lags and spans at which a stream is described."""

from __future__ import annotations

import pytest

from mead.queueing import lags_of, spans_of
from mead.queueing.statistics.inter_arrivals import round_numbers


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (2.0, 1.0), (3.0, 4.0)])
def test_there_may_be_no_round_number(low: float, high: float) -> None:
    assert round_numbers(low, high) == []


def test_little_data_has_few_scales() -> None:
    assert [lags_of(iats) for iats in (0, 1, 2, 20)] == [[], [], [1], [1, 2]]
    assert lags_of(10**9)[-1] == 10_000
    assert spans_of(0, 0.0) == spans_of(100, 0.0) == spans_of(100, 1.0) == []
    assert spans_of(1_000, 100.0) == [1.0, 2.0]
