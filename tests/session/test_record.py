"""What is remembered of a run: totals of all rounds, and no more than so many of them whole."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mead.arrays import frozen
from mead.session import record as run_record
from mead.session.record import RunRecord
from mead.values import Allocation, Observation, Resources, Round

SHARES = (0.4, 0.7, 1.0)


def held(share: float) -> Allocation:
    return Allocation.of(parser=Resources(share, 1), matcher=Resources(1.0, 2))


def turn(time_s: float, share: float, *, error: str = "") -> Round:
    seen = Observation(time_s, 1.0, held(share), {}, {}, frozen([0.1] * 1000), frozen([1.0] * 1000))
    return Round(time_s, seen, error=error, phase_s={"plan": 0.25, "observe": 0.5}, in_force=held(share))


@given(st.lists(st.tuples(st.floats(0.1, 9.0), st.sampled_from(SHARES), st.booleans()), max_size=30))
def test_totals_are_those_of_all_rounds(turns: list[tuple[float, float, bool]]) -> None:
    record, now_s, shares = RunRecord(held(1.0)), 0.0, [1.0]
    core_s = 0.0
    for length_s, share, failed in turns:
        core_s += length_s * shares[-1]
        now_s += length_s
        shares.append(share)
        record.add(turn(now_s, share, error="plan: no" if failed else ""))
    assert record.core_s(now_s + 5.0) == pytest.approx({"parser": core_s + 5.0 * shares[-1], "matcher": 2 * now_s + 10})
    assert record.changes == sum(a != b for a, b in pairwise(shares))
    assert len(record.timeline) == record.changes + 1
    assert (record.rounds, record.failed) == (len(turns), sum(failed for _, _, failed in turns))
    assert record.loop_s == pytest.approx(0.75 * len(turns))


def test_a_run_without_an_end_fills_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_record, "KEPT_ROUNDS", 50)
    monkeypatch.setattr(run_record, "KEPT_CHANGES", 20)
    record = RunRecord(held(1.0))
    for second in range(1, 1001):
        record.add(turn(float(second), SHARES[second % 3]))
    assert [this.time_s for this in record.last] == list(range(951, 1001))
    assert all(this.observation is not None and this.observation.iats_s.size == 0 for this in record.last)
    assert [time_s for time_s, _ in record.timeline] == list(range(981, 1001))
    assert (record.rounds, record.changes) == (1000, 1000)
    assert record.core_s(1000.0)["matcher"] == pytest.approx(2000.0), "what is forgotten was counted"
