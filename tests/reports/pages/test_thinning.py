from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.web import runs

from mead.reports.frames import Frame
from mead.reports.judge import CountedTimes
from mead.reports.pages.thinning import frame_columns, thin_frames


def frames() -> list[Frame]:
    return runs.board(runs.simulated("threshold").rounds).since(0)


@given(st.integers(1, 40))
def test_fewer_rounds_tell_of_the_same_tuples(most: int) -> None:
    every = frames()
    found = thin_frames(every, most)
    assert len(found) <= max(most, 1)
    assert found[-1].time_s == every[-1].time_s
    for path in runs.PIPELINE.paths:
        for pick in ("completed", "response_sum_s"):
            assert sum(getattr(one.paths[path], pick) for one in found) == pytest.approx(
                sum(getattr(one.paths[path], pick) for one in every)
            )
    for name in found[0].operators:
        assert sum(one.operators[name].arrived or 0 for one in found) == sum(
            one.operators[name].arrived or 0 for one in every
        )
        assert sum(one.operators[name].busy_s or 0.0 for one in found) == pytest.approx(
            sum(one.operators[name].busy_s or 0.0 for one in every)
        )
    assert sum((one.rate_per_s or 0.0) * (one.interval_s or 0.0) for one in found) == pytest.approx(
        sum((one.rate_per_s or 0.0) * (one.interval_s or 0.0) for one in every)
    )
    for requirement in runs.PIPELINE.requirements:
        whole, part = CountedTimes(every).whole(requirement), CountedTimes(found).whole(requirement)
        assert (part.completed, part.broken) == (whole.completed, whole.broken)
        assert part.used == pytest.approx(whole.used)


def test_columns_hold_what_rows_hold() -> None:
    every = frames()
    packed = frame_columns(every)
    for i, frame in enumerate(every):
        row = frame.as_json()
        assert packed["time_s"][i] == row["time_s"]
        assert packed["kind"][i] == row["kind"]
        for group in ("operators", "paths"):
            for name, fields in row[group].items():
                for key, value in fields.items():
                    found = packed[group][name][key][i]
                    assert found == (pytest.approx(value, rel=1e-5) if isinstance(value, float) else value)
    assert len(json.dumps(packed)) < 0.5 * len(json.dumps([frame.as_json() for frame in every]))


def test_a_run_without_rounds_has_empty_columns() -> None:
    assert frame_columns([]) == {"time_s": [], "operators": {}, "paths": {}}
