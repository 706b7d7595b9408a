"""Orders under way, and orders that nobody obeys."""

from __future__ import annotations

from math import inf

import pytest

from mead.policies.adaptive.orders import Delays, Orders
from mead.values import Allocation, Resources

LOW, HIGH = Allocation.of(matcher=Resources(0.4)), Allocation.of(matcher=Resources(1.0))
BOTH_3S = Delays(3.0, 3.0)


def test_without_orders_what_is_seen_stays() -> None:
    orders = Orders(1.0)
    assert orders.in_force(100.0, LOW, BOTH_3S) == LOW
    assert orders.last(LOW) == LOW


@pytest.mark.parametrize("delay_s", [0.0, 1.0, 5.0])
def test_an_order_acts_after_the_delay(delay_s: float) -> None:
    orders = Orders(1.0)
    orders.add(10.0, HIGH)
    assert orders.in_force(10.0 + delay_s, LOW, Delays(delay_s, delay_s)) == HIGH
    assert orders.in_force(9.9 + delay_s, LOW, Delays(delay_s, delay_s)) == LOW
    assert orders.last(LOW) == HIGH


@pytest.mark.parametrize("delay_s", [0.0, 1.0, 5.0])
def test_an_order_that_comes_into_force_in_time_is_obeyed(delay_s: float) -> None:
    orders = Orders(1.0)
    for second in range(40):
        in_force = HIGH if second > 20 + delay_s else LOW
        orders.notice(float(second), in_force, Delays(delay_s, delay_s))
        orders.add(float(second), HIGH if second >= 20 else LOW)
    assert orders.ignored_s == -inf


@pytest.mark.parametrize("delay_s", [0.0, 1.0, 5.0])
def test_orders_that_nobody_obeys_are_noticed_and_not_waited_for(delay_s: float) -> None:
    orders = Orders(1.0)
    for second in range(40):
        orders.notice(float(second), LOW, Delays(delay_s, delay_s))
        orders.add(float(second), HIGH)
    assert orders.ignored_s >= 30
    orders.notice(100.0, LOW, Delays(delay_s, delay_s))
    assert orders.in_force(100.0, LOW, Delays(delay_s, delay_s)) == LOW


def test_of_one_order_the_share_may_act_before_the_replicas() -> None:
    before, after = Allocation.of(matcher=Resources(0.4, 1)), Allocation.of(matcher=Resources(1.0, 2))
    orders, delays = Orders(1.0), Delays(share_s=1.0, replicas_s=5.0)
    orders.add(10.0, after)
    seen = [orders.in_force(time_s, before, delays)["matcher"] for time_s in (10.5, 11.0, 14.5, 15.0)]
    assert seen == [Resources(0.4, 1), Resources(1.0, 1), Resources(1.0, 1), Resources(1.0, 2)]


def test_an_order_that_comes_in_two_parts_is_obeyed() -> None:
    before, after = Allocation.of(matcher=Resources(0.4, 1)), Allocation.of(matcher=Resources(1.0, 2))
    orders, delays = Orders(1.0), Delays(share_s=0.0, replicas_s=6.0)
    for second in range(40):
        share, replicas = 1.0 if second > 20 else 0.4, 2 if second > 26 else 1
        orders.notice(float(second), Allocation.of(matcher=Resources(share, replicas)), delays)
        orders.add(float(second), after if second >= 20 else before)
    assert orders.ignored_s == -inf
