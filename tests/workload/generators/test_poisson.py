from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kstest

from mead.queueing import acf, idc
from mead.workload import GeneratorError, Poisson


@pytest.mark.parametrize("length", [{"duration_s": 20.0}, {"count": 200_000}])
def test_inter_arrival_times_are_exponential_and_independent(length: dict[str, float]) -> None:
    iats = Poisson(rate_per_s=10_000.0, **length).generate(np.random.default_rng(1)).iats_s  # type: ignore[arg-type]
    assert kstest(iats * 10_000.0, "expon").pvalue > 0.001
    assert np.abs(acf(iats, [1, 2, 10])).max() < 4 / np.sqrt(iats.size)


def test_the_index_of_dispersion_is_one_at_every_scale() -> None:
    # Elastic-PPQ, Fig. 3: 1.0 / 1.0 / 1.0. The variance of n counts has a relative error of sqrt(2/n).
    trace = Poisson(rate_per_s=10_000.0, duration_s=200.0).generate(np.random.default_rng(2))
    for dispersion, t_s in zip(idc(trace.iats_s, [0.01, 0.1, 1.0]), [0.01, 0.1, 1.0], strict=True):
        assert dispersion == pytest.approx(1.0, abs=4 * np.sqrt(2 * t_s / 200.0))


def test_the_number_of_arrivals_in_a_duration_is_poisson() -> None:
    rng = np.random.default_rng(3)
    counts = np.array([len(Poisson(rate_per_s=50.0, duration_s=1.0).generate(rng)) for _ in range(2_000)])
    assert counts.mean() == pytest.approx(50.0, abs=4 * np.sqrt(50 / 2_000))
    assert counts.var() == pytest.approx(50.0, rel=4 * np.sqrt(2 / 2_000))


@pytest.mark.parametrize("rate", [0.0, -1.0, np.nan, np.inf])
def test_a_rate_that_is_none_is_refused(rate: float) -> None:
    with pytest.raises(GeneratorError, match="rate_per_s must be a finite number above 0"):
        Poisson(rate_per_s=rate, count=10)
