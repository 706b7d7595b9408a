"""The live comparison of Elastic-PPQ, as far as it needs no Spark: its stream, its oracle, its table."""

from __future__ import annotations

import json
from io import StringIO

import numpy as np
from experiments.ppq.live import CONTROLS, ControlRun, bursty_points, live_parts
from experiments.ppq.live_oracle import answer_of, answers, in_time
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from tests.experiments.program import complaint
from tests.preference.conftest import brute_factor, brute_skyline

from mead.preference.kernels.skyline import skyline
from mead.preference.kernels.top_delta import dominance_factors
from mead.preference.spark.points import uniform
from mead.preference.windows.panes import Windows


def test_the_oracle_knows_the_windows_of_the_definition() -> None:
    """Sliding ones as well. Compared one by one, column by column."""
    points = bursty_points(rate_per_s=30.0, idc=20.0, duration_s=6.0, seed=3)
    events_us, windows = points.events_us(), Windows(2000, 1000)
    first_us = int(events_us[0]) // 1_000_000 * 1_000_000  # the first to arrive says where windows begin
    inside = np.fromiter(in_time(events_us - first_us), dtype=np.bool_)
    assert 0 < np.count_nonzero(~inside) < 20
    values = uniform(np.arange(len(points.trace)), 8, seed=3)
    found = answers(points, windows)
    assert len(found) == int((events_us - first_us)[inside].max()) // 1_000_000
    for window, answer in enumerate(found):
        since_us = events_us - first_us - 1_000_000 * window
        rows = values[inside & (since_us >= 0) & (since_us < 2_000_000)]
        best = rows[brute_skyline(rows)]
        assert sorted(map(tuple, answer.rows.tolist())) == sorted(map(tuple, best.tolist()))
        assert answer.factors.tolist() == [brute_factor(rows, row) for row in answer.rows]


@given(st.integers(0, 10**6), st.integers(1, 1300), st.integers(1, 4))
@settings(max_examples=25, deadline=None)
def test_the_oracle_finds_what_the_kernels_find(seed: int, rows: int, width: int) -> None:
    """Many equal values; both are written for this project, by other means."""
    points = np.random.default_rng(seed).integers(0, 40, (rows, width)).astype(float)
    answer, best = answer_of(points), points[skyline(points)]
    ours, theirs = (
        sorted(zip(map(tuple, rows.tolist()), factors.tolist(), strict=True))
        for rows, factors in ((answer.rows, answer.factors), (best, dominance_factors(best)))
    )
    assert ours == theirs


def test_the_oracle_allows_any_of_equals_and_nothing_else() -> None:
    rows = np.array([[1.0, 1.0, 1.0, 9.0], [9.0, 9.0, 2.0, 1.0], [9.0, 2.0, 9.0, 1.0], [9.0, 2.0, 9.0, 1.0]])
    answer = answer_of(rows)
    assert answer.factors.tolist() == [1, 3, 3, 3]
    assert answer.allows(rows[[0, 1]], delta=2)
    assert answer.allows(rows[[2, 0]], delta=2)
    assert answer.allows(rows[[3, 0, 2]], delta=3), "duplicates are both in it"
    assert not answer.allows(rows[[1, 2]], delta=2), "the best of all is missing"
    assert not answer.allows(rows[[0]], delta=2), "one is missing"
    assert not answer.allows(rows[[0, 0]], delta=2), "the same one twice"
    assert not answer.allows(np.array([rows[0], [2.0, 2.0, 2.0, 2.0]]), delta=2), "nobody knows that one"


def test_a_stream_is_the_same_for_the_same_seed() -> None:
    one, other = (bursty_points(200.0, 50.0, 3.0, seed=1) for _ in range(2))
    assert one.trace.timestamps_us.tolist() == other.trace.timestamps_us.tolist()
    assert (np.diff(one.events_us()) < 0).any(), "tuples are late"


def test_every_run_has_a_row_and_a_document() -> None:
    done = [
        ControlRun(control.name, 10, 1, 5, 5, 0.9, 0.9, 1.2, 0.1, 0.5, 3.0, 4, 2.0, 1.5, 0.5, 9, 20, 0.7)
        for control in CONTROLS
    ]
    table, _ = live_parts(done)
    console = Console(width=80, record=True, file=StringIO())
    console.print(table)
    shown = " ".join(console.export_text().split())
    assert "…" not in shown, "nothing is cut off at eighty columns"
    for control in CONTROLS:
        assert control.title.split()[0] in shown
    assert json.loads(json.dumps(done[0].as_json()))["right"] == 5


def test_an_unknown_control_is_one_line() -> None:
    assert "--control hope: write one of elasticity, splitting, both, both-wide" in complaint(
        "ppq-live", "--control", "hope"
    )
