"""The options of the policies: what is refused, and why."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from mead.policies.adaptive.policy import AdaptiveOptions


@pytest.mark.parametrize("interval_s", [0.1, 0.3, 0.7, 1.0, 2.5, 60.0])
def test_adaptive_decides_in_whole_tenths_of_a_second(interval_s: float) -> None:
    assert AdaptiveOptions(interval_s=interval_s).interval_s == interval_s


@pytest.mark.parametrize("interval_s", [0.05, 0.25, 1.01])
def test_an_interval_between_the_bins_of_the_counts_is_refused(interval_s: float) -> None:
    with pytest.raises(ValidationError, match=r"must be a multiple of 0\.1; got"):
        AdaptiveOptions(interval_s=interval_s)
