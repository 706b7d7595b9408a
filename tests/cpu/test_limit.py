from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mead.cpu.limit import Limit


@given(
    share=st.floats(0.001, 256.0),
    period_us=st.integers(1_000, 1_000_000),
    burst_us=st.integers(0, 1_000_000),
)
def test_the_limit_gives_the_share_and_the_kernel_accepts_it(share: float, period_us: int, burst_us: int) -> None:
    limit = Limit.of(share, period_us, burst_us)
    # Quota and period are whole microseconds, and neither is below a thousand of them.
    assert limit.quota_us / limit.period_us == pytest.approx(share, rel=1e-3)
    assert limit.quota_us >= 1_000
    assert 1_000 <= limit.period_us <= 1_000_000
    assert 0 <= limit.burst_us <= min(burst_us, limit.quota_us)


@given(st.floats(0.2, 64.0))
def test_common_shares_differ_in_their_quota_alone(share: float) -> None:
    assert (Limit.of(share).period_us, Limit.of(share).burst_us) == (Limit.of(1.0).period_us, Limit.of(1.0).burst_us)


@pytest.mark.parametrize("share", [0.0, -0.4, 0.0009, float("inf"), float("nan")])
def test_a_share_that_cannot_be_given_is_refused(share: float) -> None:
    with pytest.raises(ValueError, match=r"a share must be at least 0\.001 cores"):
        Limit.of(share)


def test_a_period_or_burst_that_the_kernel_does_not_have_is_refused() -> None:
    with pytest.raises(ValueError, match="period_us must be between"):
        Limit.of(0.4, period_us=999)
    with pytest.raises(ValueError, match="burst_us must be 0 or more"):
        Limit.of(0.4, burst_us=-1)
