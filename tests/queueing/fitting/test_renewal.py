from __future__ import annotations

import numpy as np
import pytest

from mead.queueing import fit_calibrated
from mead.queueing.fitting.renewal import is_regular


def test_regular_arrivals_get_a_renewal_model_with_their_scv() -> None:
    iats = np.random.default_rng(2).gamma(4.0, 0.005, 20_000)
    fit = fit_calibrated(iats)
    assert fit.models[0].map.scv == pytest.approx(iats.var() / iats.mean() ** 2)
    assert fit.models[0].map.acf([1])[0] == pytest.approx(0.0, abs=1e-12)
    assert "regular" in fit.note


def test_constant_arrivals_get_the_most_regular_model_there_is() -> None:
    assert fit_calibrated(np.full(1000, 0.1)).models[0].map.scv == pytest.approx(1 / 16)


def test_iats_that_vary_little_but_drift_together_are_not_regular() -> None:
    slow = 1 + 0.5 * np.sin(np.arange(20_000) / 500)
    assert not is_regular(slow / slow.mean())
