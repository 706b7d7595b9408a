"""A run is seen alike from its own process, by its history and by its page."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
from tests.web import runs

from mead.history import History
from mead.monitor import BatchResponses, monitors
from mead.reports.judge import Figures
from mead.reports.live import RECENT, Board, HistoryBoard, Snapshot
from mead.web.server import serving
from mead.web.watcher import HistoryWatcher, PageWatcher, WatchError


@pytest.fixture(scope="module")
def board() -> Board:
    shown = runs.board(runs.simulated("threshold").rounds)
    shown.finish()
    return shown


@pytest.fixture(scope="module")
def page(board: Board) -> Iterator[str]:
    with serving(board) as address:
        yield address


def test_the_page_tells_all_that_its_own_process_knows(board: Board, page: str) -> None:
    assert PageWatcher(page).snapshot() == Snapshot.of(board)


def test_the_history_tells_the_same(board: Board, tmp_path: Path) -> None:
    runs.written(tmp_path / "history.sqlite", runs.simulated("threshold"))
    with closing(HistoryWatcher(tmp_path)) as watcher:
        seen = watcher.snapshot()
    here = replace(Snapshot.of(board), policy="threshold")
    assert replace(seen, paths={}) == replace(here, paths={})
    assert {path: found.mean_s for path, found in seen.paths.items()} == pytest.approx(
        {path: found.mean_s for path, found in here.paths.items()}
    )


def test_means_are_those_of_the_tuples(board: Board) -> None:
    seen, result = Snapshot.of(board), runs.simulated("threshold")
    for path, found in seen.paths.items():
        readings = [this.observation.paths[path] for this in result.rounds if this.observation]
        tuples = sum(reading.completed for reading in readings)
        assert found.mean_s == pytest.approx(sum(reading.response_sum_s for reading in readings) / tuples)
        last = readings[-RECENT:]
        recent_s = sum(r.response_sum_s for r in last) / sum(r.completed for r in last)
        assert seen.recent_s(path) == pytest.approx(recent_s)


def test_mean_and_p95_of_a_finished_run_cover_the_same_tuples(tmp_path: Path) -> None:
    figures: Figures = {path: {"mean_s": 4.33, "p95_s": 9.97} for path in runs.PIPELINE.paths}
    runs.written(tmp_path / "history.sqlite", runs.simulated("threshold"), figures=figures)  # of rounds and the drain
    with closing(HistoryWatcher(tmp_path)) as watcher:
        by_history = watcher.snapshot()
    with History.read(tmp_path / "history.sqlite") as history:
        past = HistoryBoard(history, history.run(1), wall_s=lambda: runs.STARTED_S)
        past.follow()
        with serving(past.board) as address:
            by_page = PageWatcher(address).snapshot()
    assert by_history.finished
    assert {path: asdict(found) for path, found in by_history.paths.items()} == figures
    assert by_page.paths == by_history.paths


def test_mean_and_p95_of_a_live_run_include_tuples_after_the_last_round() -> None:
    seen = monitors(runs.PIPELINE.paths, runs.PIPELINE.requirements)
    board = Board(runs.facts(), wall_s=lambda: runs.STARTED_S)
    for this in runs.simulated("threshold").rounds:
        board.add(this, seen)
    for monitor in seen.values():
        monitor.add(BatchResponses(200.0, 1000, 8.0, np.array([8.0, 8.0])))
    for found in Snapshot.of(board).paths.values():
        assert found.mean_s == pytest.approx(8.0)
        assert found.p95_s == pytest.approx(8.0, rel=0.01)


def test_a_history_is_followed_while_it_is_written(tmp_path: Path) -> None:
    rounds = runs.simulated("threshold").rounds
    with History.open(tmp_path / "history.sqlite") as history:
        record = history.begin("log-analysis", runs.PIPELINE, policy="threshold", started=runs.STARTED)
        with closing(HistoryWatcher(tmp_path)) as watcher:
            assert watcher.snapshot().last is None
            for count, this in enumerate(rounds, start=1):
                record(this)
                seen = watcher.snapshot()
                assert [frame.number for frame in seen.frames] == list(range(max(1, count - RECENT + 1), count + 1))
                assert not seen.finished


def test_only_the_rounds_that_count_are_read_of_a_long_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs.written(tmp_path / "history.sqlite", runs.simulated("threshold"))
    asked: list[int] = []
    rounds = History.rounds

    def counted(self: History, run: int, *, after: int = 0, limit: int | None = None) -> object:
        asked.append(after)
        return rounds(self, run, after=after, limit=limit)

    monkeypatch.setattr(History, "rounds", counted)
    monkeypatch.setattr("mead.web.watcher.KEPT_FRAMES", 5)
    with closing(HistoryWatcher(tmp_path)) as watcher:
        seen = watcher.snapshot()
        watcher.snapshot()
    total = len(runs.simulated("threshold").rounds)
    assert asked == [total - 5, total]
    assert [frame.number for frame in seen.frames] == list(range(total - 4, total + 1))


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("http://127.0.0.1:1/", "no page of a run answers"),
        ("http://127.0.0.1:99999999/", "no page of a run answers"),
        ("http://", "no page of a run answers"),
        ("http://[half", "no page of a run answers"),
        ("http://no.such.host.invalid/", "no page of a run answers"),
    ],
)
def test_where_there_is_no_page_it_is_said_in_one_line(address: str, said: str) -> None:
    with pytest.raises(WatchError, match=said) as caught:
        PageWatcher(address).snapshot()
    assert "\n" not in str(caught.value)


def test_a_page_that_does_not_serve_that_path_is_none(page: str) -> None:
    with pytest.raises(WatchError, match="no page of a run answers"):
        PageWatcher(f"{page}static").snapshot()


def test_a_folder_without_a_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(WatchError, match="there is no such file"):
        HistoryWatcher(tmp_path)
    History.open(tmp_path / "history.sqlite").__exit__(None)
    with pytest.raises(WatchError, match="it has no runs yet"):
        HistoryWatcher(tmp_path)
