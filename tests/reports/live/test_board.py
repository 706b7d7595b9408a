from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from tests.web import runs

from mead.history import History
from mead.reports.frames import Kind
from mead.reports.live import Board, HistoryBoard
from mead.values import Round

NOW_S = runs.STARTED_S + 100_000.0


def past_board(file: Path) -> HistoryBoard:
    history = History.read(file)
    return HistoryBoard(history, history.runs()[-1], wall_s=lambda: NOW_S)


@pytest.mark.parametrize(
    ("policy", "mode"), [("mg1", "act"), ("threshold", "act"), ("mg1", "advise"), ("mg1", "observe")]
)
def test_a_live_run_and_its_history_show_the_same(tmp_path: Path, policy: str, mode: str) -> None:
    result = runs.simulated(policy, mode)
    live = Board(runs.facts(policy, mode), wall_s=lambda: 0.0)
    for this in result.rounds:
        live.add(this)
    past = past_board(runs.written(tmp_path / "history.sqlite", result, mode))
    past.follow()
    assert len(live.since(0)) == len(result.rounds) > 10
    # A history keeps the late tuples of one bound only, which in this pipeline is the only one of each path.
    assert past.board.since(0) == live.since(0)
    assert past.board.finished


def test_the_ring_keeps_the_last_rounds_and_totals_keep_all() -> None:
    rounds = runs.simulated("threshold").rounds
    board = runs.board(rounds, kept=5)
    assert [frame.number for frame in board.since(0)] == list(range(len(rounds) - 4, len(rounds) + 1))
    assert board.totals.rounds == len(rounds)
    arrived = sum(this.observation.operators["parser"].arrived for this in rounds if this.observation)
    assert board.totals.arrived["parser"] == arrived
    assert sum(board.totals.decisions.values()) == len(rounds)


@pytest.mark.parametrize("after", [0, 3, 21, 22, 23, 24, 10**9])
def test_rounds_are_read_on_from_a_number(after: int) -> None:
    board = runs.board(runs.simulated("threshold").rounds, kept=10)
    numbers = [frame.number for frame in board.since(0)]
    assert [frame.number for frame in board.since(after)] == [n for n in numbers if n > after]
    assert [frame.number for frame in board.since(after, 2)] == [n for n in numbers if n > after][:2]


def test_recent_rounds_are_those_of_the_last_seconds_of_the_run() -> None:
    board = runs.board(runs.simulated("threshold").rounds)
    last = board.last
    assert last is not None
    assert [f.time_s for f in board.recent(20.0)] == [f.time_s for f in board.since(0) if f.time_s > last.time_s - 20.0]


def test_demands_are_those_of_the_last_round() -> None:
    rounds = runs.simulated("threshold").rounds
    board = runs.board(rounds)
    for operator in runs.PIPELINE.operators:
        learned_s = board.pipeline.operator(operator.name).demand_s
        assert learned_s == rounds[-1].demands_s[operator.name] == pytest.approx(operator.demand_s, rel=0.1)


def test_utilization_is_of_what_the_operator_had_in_that_time() -> None:
    rounds = runs.simulated("threshold").rounds
    frames = runs.board(rounds).since(0)
    for before, this, frame in zip(rounds, rounds[1:], frames[1:], strict=False):
        assert this.observation is not None
        assert before.in_force is not None
        busy_s = this.observation.operators["matcher"].busy_s
        cores = before.in_force["matcher"].cores
        assert frame.operators["matcher"].utilization == pytest.approx(busy_s / this.observation.interval_s / cores)
        assert 0 < (frame.operators["matcher"].utilization or 0) < 1.05


def test_whoever_listens_is_woken_until_he_has_had_enough() -> None:
    board, woken = runs.board([]), [0]

    def wake() -> None:
        woken[0] += 1

    forget = board.on_change(wake)
    rounds = runs.simulated().rounds
    board.add(rounds[0])
    board.add(rounds[1])
    forget()
    board.add(rounds[2])
    assert woken == [2]


def test_a_round_that_failed_or_saw_nothing_says_so() -> None:
    good = runs.simulated().rounds[0]
    assert good.observation is not None
    blind = replace(good, observation=replace(good.observation, missing="no readings"))
    frames = runs.board([good, blind, Round(99.0, error="observe: TimeoutError: no answer")]).since(0)
    assert [frame.kind for frame in frames[1:]] == [Kind.BLIND, Kind.FAILED]
    assert frames[2].operators["parser"].rate_per_s is None
    assert all(kind.meaning for kind in Kind)


def test_a_round_that_cannot_be_shown_does_not_stop_the_run(caplog: pytest.LogCaptureFixture) -> None:
    good = runs.simulated().rounds[0]
    assert good.observation is not None
    absurd = replace(good.observation.operators["parser"], arrived=cast(int, float("nan")))
    readings = {**good.observation.operators, "parser": absurd}
    bad = replace(good, observation=replace(good.observation, operators=readings))
    board = runs.board([good, bad, bad, good])
    assert [frame.number for frame in board.since(0)] == [1, 2]
    assert board.lost == 2
    assert [record.getMessage() for record in caplog.records] == [
        "the page lacks the round at 10.0 s: ValueError: cannot convert float NaN to integer"
    ]


def test_a_history_is_followed_while_it_is_written(tmp_path: Path) -> None:
    result, file = runs.simulated("threshold"), tmp_path / "history.sqlite"
    with History.open(file) as writer:
        record = writer.begin("log-analysis", runs.PIPELINE, policy="threshold", started=runs.STARTED)
        for this in result.rounds[:4]:
            record(this)
        past = past_board(file)
        past.follow()
        assert len(past.board.since(0)) == 4
        assert past.board.finished is False
        for this in result.rounds[4:]:
            record(this)
        past.follow()
        assert past.board.since(0) == runs.board(result.rounds).since(0)
    past.follow()
    assert vars(past.board)["finished"]
    assert past.board.last_round_at_s == NOW_S, "what comes while somebody looks has just come"


def test_a_run_that_broke_off_is_silent_since_its_last_round(tmp_path: Path) -> None:
    result = runs.simulated()
    past = past_board(runs.written(tmp_path / "history.sqlite", result, finished=False))
    past.follow()
    assert past.board.silent_since_s == runs.STARTED_S + result.rounds[-1].time_s
    past.board.finish()
    assert past.board.silent_since_s is None


@pytest.mark.parametrize(("interval_s", "after_s"), [(10.0, 100.0), (None, 100.0), (0.5, 60.0)])
def test_one_slow_round_is_no_silence(interval_s: float | None, after_s: float) -> None:
    now_s = [runs.STARTED_S]
    board = Board(replace(runs.facts(), interval_s=interval_s), wall_s=lambda: now_s[0])
    for this in runs.simulated().rounds:  # one every ten seconds
        board.add(this)
    now_s[0] += after_s
    assert board.silent_since_s is None
    now_s[0] += 0.1
    assert board.silent_since_s == runs.STARTED_S
