"""Old rounds of a long run are merged, and no figure of a report changes by that."""

from __future__ import annotations

import json
import sqlite3
import subprocess
from collections.abc import Sequence
from dataclasses import asdict
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from tests.history.long_run import INTERVAL_S, PIPELINE, STARTED, bursty, made
from tests.programs import program

from mead.history import History, HistoryError, merging
from mead.reports.documents import decision_json
from mead.reports.live import HistoryBoard
from mead.reports.pages import RunFigures
from mead.reports.pages import thinning as page_thinning
from mead.reports.runs.explanation import Explanation, explanation_tables
from mead.reports.runs.history_report import decision_tables, describe
from mead.values import Round

RARE = ["failed", "missing", "late", "cautious", "refused"]
quiet = st.lists(st.sampled_from(["keep"] * 12 + ["change", "change", *RARE]), min_size=40, max_size=120)
busy = st.lists(st.sampled_from(["change"] * 9 + ["keep"] * 6 + RARE), min_size=40, max_size=120)
broken = st.lists(st.sampled_from(["change", "keep", *RARE]), min_size=40, max_size=120)


def recorded(file: Path, rounds: Sequence[Round], mode: str) -> Path:
    file.unlink(missing_ok=True)
    with History.open(file) as history:
        record = history.begin("long", PIPELINE, policy="p", started=STARTED, mode=mode, interval_s=INTERVAL_S)
        for this in rounds:
            record(this)
        assert record.lost == 0
    return file


def figures(file: Path) -> dict[str, Any]:
    """All that is said about the whole run, without the average of predictions, which is none of tuples."""
    with History.read(file) as history:
        board = HistoryBoard(history, history.run(1), wall_s=lambda: 0.0)
        board.follow()
        totals = board.board.totals
        document = RunFigures.of(history, 1).as_json()
        if document["savings"] is not None:
            del document["savings"]["predicted_s"]
        return {
            "report": document,
            "totals": {path: asdict(one) for path, one in history.path_totals(1).items()},
            "checked": {path: (one.seen_s, one.expected_s) for path, one in history.checked(1).items()},
            "shown": sum(one.changes for one in history.decisions(1, changes_only=True)),
            "page": (totals.rounds, totals.changes, totals.arrived, totals.completed, totals.beyond),
            "spent": [dict(totals.phase_s), dict(totals.busy_s), dict(totals.response_sum_s)],
        }


def assert_alike(one: Any, other: Any) -> None:
    """Equal but for the order in which floats were added."""
    if isinstance(one, dict):
        assert set(one) == set(other)
        for key, value in one.items():
            assert_alike(value, other[key])
    elif isinstance(one, list | tuple):
        assert len(one) == len(other)
        for a, b in zip(one, other, strict=True):
            assert_alike(a, b)
    else:
        assert one == (pytest.approx(other, rel=1e-9, abs=1e-12) if isinstance(one, float) else other)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("merged")


@given(st.one_of(quiet, busy, broken), st.integers(0, 2**32 - 1), st.sampled_from(["act", "advise"]))
@settings(max_examples=24, deadline=None, phases=[Phase.explicit, Phase.generate])
def test_a_merged_history_reports_what_the_whole_one_does(
    folder: Path, happened: list[str], seed: int, mode: str
) -> None:
    rounds = list(made(happened, seed, acts=mode == "act"))
    with pytest.MonkeyPatch.context() as patched:
        whole = recorded(folder / "whole.sqlite", rounds, mode)
        patched.setattr(merging, "KEPT_S", 60.0)
        thin = recorded(folder / "thin.sqlite", rounds, mode)
        assert_alike(figures(thin), figures(whole))
        patched.setattr(page_thinning, "MOST_FRAMES", 10)  # a report that merges what it has read
        assert_alike(figures(thin), figures(whole))
    with History.read(thin) as history, History.read(whole) as other:
        assert history.run(1).rounds == len(rounds)
        for past in history.rounds(1):
            assert past.rounds == 1 or past.time_s <= len(rounds) * INTERVAL_S - 60
        assert_every_change_shown_is_one_that_was_made(history, other, exact="late" not in happened)
    assert_pointers_lead_to_rows(thin)


def assert_every_change_shown_is_one_that_was_made(thin: History, whole: History, *, exact: bool) -> None:
    """Its decision is its own. Its effect lasts until the next one that is shown."""
    shown, made = (one.decisions(1, changes_only=True) for one in (thin, whole))
    by_round = {one.round: one for one in made}
    for one in shown:
        true = by_round[one.round]
        for name in ("time_s", "before", "after", "target", "applied", "reason", "error"):
            assert getattr(one, name) == getattr(true, name)
    applied = [one for one in shown if one.applied]
    for one, following in pairwise(applied):
        between = [other for other in made if one.round <= other.round < following.round]
        until_then = [effect for other in between for effect in other.effects]
        for seen in one.effects if exact else ():
            assert seen.completed == sum(effect.completed for effect in until_then if effect.path == seen.path)


def assert_pointers_lead_to_rows(file: Path) -> None:
    with sqlite3.connect(file) as connection:
        for follows in ("follows_round", "follows_change"):
            lost = f"SELECT * FROM round WHERE {follows} > 0 AND {follows} NOT IN (SELECT number FROM round)"  # noqa: S608
            assert connection.execute(lost).fetchone() is None


@pytest.mark.parametrize(("mode", "most"), [("act", 2), ("advise", 3)])
def test_a_half_minute_takes_few_rows_whatever_the_policy_does(
    folder: Path, monkeypatch: pytest.MonkeyPatch, mode: str, most: int
) -> None:
    """One up to its last change and one for the effect of it; one more if the last advice was not in force."""
    monkeypatch.setattr(merging, "KEPT_S", 60.0)
    happened = ["change", "change", "keep", "change", "keep"] * 120
    file = recorded(folder / "bursty.sqlite", list(made(happened, 1, acts=mode == "act")), mode)
    half_minutes, single = len(happened) * INTERVAL_S / 30.0, 1 + 60 / INTERVAL_S + 6
    with History.read(file) as history:
        assert len(history.rounds(1)) <= most * half_minutes + single
        assert history.run(1).changes == happened.count("change")
    happened = ["failed", "missing", "keep"] * 200
    file = recorded(folder / "broken.sqlite", list(made(happened, 1, acts=mode == "act")), mode)
    with History.read(file) as history:
        assert len(history.rounds(1)) <= 3 * half_minutes + single
        assert history.run(1).errors == 200


def test_freed_pages_are_used_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Six rounds become one: the file grows by a fifth of what it would at most, without being rewritten."""

    def growth(name: str) -> int:
        sizes = []
        with History.open(tmp_path / name) as history:
            record = history.begin("long", PIPELINE, policy="p", started=STARTED, interval_s=INTERVAL_S)
            for number, this in enumerate(rounds, start=1):
                record(this)
                if number in (1_000, 3_000):
                    history._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                    sizes.append((tmp_path / name).stat().st_size)
        return sizes[1] - sizes[0]

    rounds = list(made(["keep"] * 3_000, 1, acts=True))
    monkeypatch.setattr(merging, "KEPT_S", 600.0)
    merged = growth("merged.sqlite")
    monkeypatch.setattr(merging, "KEPT_S", 1e9)
    assert merged < growth("whole.sqlite") / 5


def test_a_writer_killed_while_it_merges_leaves_one_state_or_the_other(folder: Path) -> None:
    file = folder / "killed.sqlite"
    command = program("tests.history.long_run", file)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        while int(process.stdout.readline()) < 600:
            pass
        process.kill()
    with History.read(file) as history:
        rounds = history.rounds(1)
        run = history.run(1)
        assert run.rounds >= 600
        assert sum(one.rounds for one in rounds) == run.rounds == rounds[-1].round
        assert len(rounds) < run.rounds / 2
    assert_pointers_lead_to_rows(file)
    written = islice(made(bursty(), 1, acts=True), run.rounds)
    whole, killed = figures(recorded(folder / "whole.sqlite", list(written), "act")), figures(file)
    for document in (whole["report"], killed["report"]):
        del document["finished"], document["options"]
    assert_alike(killed, whole)


def test_a_reader_between_two_parts_sees_one_state(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A round is neither lost nor counted twice if the writer merges while a page reads by parts."""
    monkeypatch.setattr("mead.reports.live.history_board.AT_ONCE", 7)
    monkeypatch.setattr(merging, "KEPT_S", 60.0)
    rounds = list(made(["keep"] * 110, 1, acts=True))
    file = folder / "parts.sqlite"
    with History.open(file) as writer, History.read(file) as reader:
        record = writer.begin("long", PIPELINE, policy="p", started=STARTED)
        for this in rounds[:100]:
            record(this)
        board = HistoryBoard(reader, reader.run(1), wall_s=lambda: 0.0)
        put, written = board.board.put, iter(rounds[100:110])  # less than what is never merged

        def while_writing(frame: Any, at_s: float) -> None:
            put(frame, at_s)
            if (this := next(written, None)) is not None:
                record(this)

        monkeypatch.setattr(board.board, "put", while_writing)
        board.follow()
        assert next(written, None) is None
        monkeypatch.setattr(board.board, "put", put)
        board.follow()
    assert board.board.totals.rounds == 110
    done = sum(this.observation.paths["parser>matcher"].completed for this in rounds[:110] if this.observation)
    assert board.board.totals.completed["parser>matcher"] == done


def test_rounds_say_how_many_they_stand_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merging, "KEPT_S", 60.0)
    file = recorded(folder / "said.sqlite", list(made(["keep"] * 60, 1, acts=True)), "act")
    with History.read(file) as history:
        second = RunFigures.of(history, 1).frames[1]
        assert json.loads(json.dumps(second.as_json()))["rounds"] == second.rounds == 5
        board = HistoryBoard(history, history.run(1), wall_s=lambda: 0.0)
        board.follow()
        assert [frame.number for frame in board.board.since(6, 2)] == [12, 18]
        assert [frame.number for frame in board.board.since(58)] == [59, 60]
        with pytest.raises(HistoryError, match="run 1 has no round 3; it was merged into round 6"):
            history.grounds(history.run(1), 3)
    with sqlite3.connect(file) as connection:
        assert connection.execute("SELECT max(rounds) FROM round").fetchone() == (6,)


def test_a_change_says_how_many_it_stands_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merging, "KEPT_S", 60.0)
    happened = ["keep"] * 6 + ["change", "change", "keep", "change", "keep", "failed"] + ["keep"] * 30
    file = recorded(folder / "several.sqlite", list(made(happened, 1, acts=True)), "act")
    with History.read(file) as history:
        run, [change] = history.run(1), history.decisions(1, changes_only=True)
        assert (change.round, change.changes, run.changes, run.errors) == (10, 3, 3, 1)
        assert decision_json(change)["changes"] == 3
        assert " (and 2 more changes in this half-minute)" in describe(change).plain
        shown = [str(part) for part in decision_tables(run, [change], file, changes_only=True)]
        assert not any("--limit" in part for part in shown)
        explained = Explanation.of(history, run, 10)
        assert explained.seen.rounds == 4
        assert "and 2 more changes" in str(next(explanation_tables(explained)))
