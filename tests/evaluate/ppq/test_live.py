"""The live comparison of Elastic-PPQ, as far as it needs no Spark: its stream, its oracle, its table."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.cli.program import complaint
from tests.preference.conftest import brute_factor, brute_skyline

from mead.evaluate.ppq import live as ppq_live
from mead.evaluate.ppq.live import CONTROLS, LiveRun, bursty_points, live_parts, oracle
from mead.preference.live.points import uniform


def test_the_oracle_knows_the_windows_of_the_definition(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ppq_live, "DELTA", 7)
    points = bursty_points(rate_per_s=30.0, idc=20.0, duration_s=6.0, seed=3)
    events_us = points.events_us()
    first_us = int(events_us[0]) // 1_000_000 * 1_000_000  # the first to arrive says where windows begin
    newest, slack, bound, since, inside = 0, 0, 0, [], []
    for number, event_us in enumerate((events_us - first_us).tolist()):
        since.append(event_us)
        if event_us > newest:
            newest, slack, since = event_us, max(slack, event_us - min(since)), []
            bound = max(bound, newest - slack)
        if event_us >= bound:
            inside.append((event_us, number))
    values = uniform(np.arange(len(points.trace)), 8, seed=3)
    answers = oracle(points)
    assert len(answers) == max(event_us for event_us, _ in inside) // 1_000_000
    for window, best in enumerate(answers):
        rows = values[[number for event_us, number in inside if 0 <= event_us - 1_000_000 * window < 2_000_000]]
        factors = sorted(brute_factor(rows, rows[row]) for row in brute_skyline(rows))[:7]
        assert sorted(brute_factor(rows, row) for row in best) == factors


def test_a_stream_is_the_same_for_the_same_seed() -> None:
    one, other = (bursty_points(200.0, 50.0, 3.0, seed=1) for _ in range(2))
    assert one.trace.timestamps_us.tolist() == other.trace.timestamps_us.tolist()
    assert (np.diff(one.events_us()) < 0).any(), "tuples are late"


def test_every_run_has_a_row_and_a_document() -> None:
    done = [LiveRun(control.name, 10, 1, 5, 5, 0.9, 1.2, 0.5, 3.0, 2.0, 1.5, 20, 0.7) for control in CONTROLS]
    table, _ = live_parts(done)
    assert table.row_count == len(CONTROLS)  # type: ignore[union-attr]
    assert json.loads(json.dumps(done[0].as_json()))["right"] == 5


def test_an_unknown_control_is_one_line() -> None:
    assert "--control hope: write one of elasticity, splitting, both" in complaint(
        "evaluate", "ppq-live", "--control", "hope"
    )
