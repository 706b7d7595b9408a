from __future__ import annotations

import numpy as np
import pytest

from mead.preference.kernels.expected_size import expected_sizes
from mead.preference.kernels.skyline import skyline
from mead.workload.attributes import correlated_attributes, uniform_attributes
from mead.workload.generators.kind import GeneratorError


def test_independent_attributes_give_skylines_of_the_expected_size() -> None:
    rng = np.random.default_rng(1)
    sizes = [skyline(uniform_attributes(1000, 5, rng)).size for _ in range(40)]
    assert np.mean(sizes) == pytest.approx(float(expected_sizes(1000, 5)[1000]), rel=0.08)


def test_correlation_is_as_asked_for() -> None:
    for correlation in (-0.2, 0.0, 0.7):
        rows = correlated_attributes(40_000, 4, correlation, np.random.default_rng(2))
        assert np.atleast_2d(np.corrcoef(rows.T))[np.triu_indices(4, 1)] == pytest.approx(correlation, abs=0.02)
        assert rows.mean(axis=0) == pytest.approx(500, abs=1)
        assert rows.std(axis=0) == pytest.approx(30, rel=0.02)


def test_the_more_correlated_the_smaller_the_skyline() -> None:
    sizes = [
        skyline(correlated_attributes(2000, 4, correlation, np.random.default_rng(3))).size
        for correlation in (-0.3, 0.0, 0.5, 0.9)
    ]
    assert sizes == sorted(sizes, reverse=True)


def test_a_correlation_that_cannot_be_is_refused() -> None:
    with pytest.raises(GeneratorError, match=r"between -0\.25 and 1"):
        correlated_attributes(10, 5, -0.5, np.random.default_rng(1))
