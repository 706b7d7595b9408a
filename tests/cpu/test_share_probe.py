from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mead.cpu import DryRunShares, detect, measure_actuation_delay_s, probe_share
from mead.cpu.limit import Limit
from mead.cpu.share_probe import PATIENCE_S, SHARE, ShareProbe, max_cpu_s


def test_a_spinning_process_is_held_to_its_share() -> None:
    found = detect()
    if found.kind == "none":
        pytest.skip(f"no shares can be set here: {found}")
    probe = probe_share(found.open, share=0.1)
    assert probe.enforced
    assert probe.limited > 0  # on a busy machine the free process may get even less


def test_what_limits_nothing_is_seen_to_limit_nothing() -> None:
    assert not ShareProbe(free=0.98, limited=0.97, share=0.2).enforced


def test_a_manager_that_measures_nothing_is_no_error() -> None:
    assert probe_share(DryRunShares).limited == 0


@given(st.sampled_from([0.1, 0.2, 0.4, 1.0]), st.floats(0.0, 0.5), st.floats(0.0, 0.2))
def test_no_share_gives_more_than_it_is_said_to(share: float, seconds: float, idle_s: float) -> None:
    """The kernel's bucket in small steps, from the fullest that it can be, and from any place within a period on."""
    limit = Limit.of(share)
    step_us, used_us = 100, 0
    bucket_us = limit.quota_us + limit.burst_us
    for at_us in range(int(1e6 * idle_s), int(1e6 * (idle_s + seconds)), step_us):
        if at_us % limit.period_us < step_us and at_us >= limit.period_us:
            bucket_us = min(bucket_us + limit.quota_us, limit.quota_us + limit.burst_us)
        ran_us = min(step_us, bucket_us)
        bucket_us, used_us = bucket_us - ran_us, used_us + ran_us
    assert used_us / 1e6 <= max_cpu_s(share, seconds) + step_us / 1e6


def test_a_change_shows_within_a_few_periods() -> None:
    found = detect()
    if found.kind == "none":
        pytest.skip(f"no shares can be set here: {found}")
    least_s = max_cpu_s(SHARE, 0.0) / (1 - SHARE)  # the time in which a whole core exceeds the low share
    delays_s = []
    for _ in range(10):  # other programs may take the CPUs for a while
        delays_s.append(measure_actuation_delay_s(found.open, changes=1))
        assert delays_s[-1] >= least_s
        if delays_s[-1] < PATIENCE_S:
            return
    pytest.fail(f"no change acted within {PATIENCE_S} s: {delays_s}")
