from __future__ import annotations

import pytest

from mead.simulator import Timeline
from mead.values import Allocation, Resources


def pair(a: float, b: float, replicas: int = 1) -> Allocation:
    return Allocation.of(a=Resources(a), b=Resources(b, replicas))


def test_means_are_weighted_by_time() -> None:
    timeline = Timeline()
    timeline.add(0.0, pair(1.0, 1.0))
    timeline.add(10.0, pair(0.4, 1.0))
    timeline.add(30.0, pair(0.4, 0.5, replicas=4))
    assert timeline.mean_share("a", 40.0) == pytest.approx((10 + 0.4 * 30) / 40)
    assert timeline.mean_share("b", 40.0) == pytest.approx((30 + 0.5 * 10) / 40)
    assert timeline.mean_cores("b", 40.0) == pytest.approx((30 + 2.0 * 10) / 40)
    assert timeline.mean_cores_per_operator(40.0) == pytest.approx(((10 + 0.4 * 30) + (30 + 20)) / 80)


def test_what_comes_later_than_asked_for_does_not_count() -> None:
    timeline = Timeline()
    timeline.add(0.0, pair(1.0, 1.0))
    timeline.add(10.0, pair(0.4, 1.0))
    timeline.add(30.0, pair(0.1, 0.1))
    assert timeline.mean_share("a", 20.0) == pytest.approx(0.7)
    assert timeline.mean_share("a", 0.0) == 1.0


def test_changes_at_one_moment_are_one_change() -> None:
    timeline = Timeline()
    timeline.add(0.0, pair(1.0, 1.0))
    timeline.add(5.0, pair(0.4, 1.0))
    timeline.add(5.0, pair(0.4, 0.7))
    assert timeline.times_s == [0.0, 5.0]
    assert timeline.allocations[-1] == pair(0.4, 0.7)
