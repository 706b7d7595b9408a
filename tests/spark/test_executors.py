"""When executors are let go."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mead.spark.executors import Highest

LENGTH_S = 10.0


@given(st.lists(st.tuples(st.floats(0.0, 6.0), st.integers(0, 5))))
def test_the_highest_is_that_of_the_last_seconds(steps: list[tuple[float, int]]) -> None:
    now_s, seen = 0.0, list[tuple[float, int]]()
    highest = Highest(LENGTH_S, lambda: now_s)
    for pause_s, value in steps:
        now_s += pause_s
        seen.append((now_s, value))
        assert highest.of(value) == max(old for time_s, old in seen if time_s >= now_s - LENGTH_S)


def test_a_plan_that_goes_up_and_down_changes_nothing() -> None:
    now_s = 0.0
    highest = Highest(LENGTH_S, lambda: now_s)
    held = []
    for second in range(60):
        now_s = float(second)
        held.append(highest.of(1 + second % 2))
    assert set(held[1:]) == {2}
    assert len(highest._falling) <= 2, "what cannot become the highest is forgotten"
