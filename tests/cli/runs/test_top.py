"""``mead top``: one frame for scripts, and a view that refreshes in place in a real terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from tests.cli import program
from tests.web import runs

from mead.history import History
from mead.web.server import serving

complaint = partial(program.complaint, "top")
SCREEN, BACK = b"\x1b[?1049h", b"\x1b[?1049l"
"""A terminal is told to use its second screen, and to come back to the first."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("run")
    runs.written(place / "history.sqlite", runs.simulated())
    return place


class Terminal:
    """A terminal with a program in it, whose keys and signals a test can press."""

    def __init__(self, *words: program.Word) -> None:
        self.ours, self.theirs = pty.openpty()
        fcntl.ioctl(self.theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        self.before = termios.tcgetattr(self.theirs)
        self.shown = b""
        self.process = subprocess.Popen(
            [program.PROGRAM, *map(str, words)],
            stdin=self.theirs,
            stdout=self.theirs,
            stderr=self.theirs,
            env=os.environ | {"TERM": "xterm-256color"},
        )

    def shows(self, text: bytes, within_s: float = 60.0) -> None:
        until_s, begun = time.monotonic() + within_s, len(self.shown)
        while text not in self.shown[begun:]:
            assert time.monotonic() < until_s, f"{text!r} was never shown: {self.shown[-2000:]!r}"
            if select.select([self.ours], [], [], 0.2)[0]:
                self.shown += os.read(self.ours, 65536)

    def ends(self) -> int:
        """What is shown on the way out has to be read, or the program would wait for that."""
        until_s = time.monotonic() + 60
        while self.process.poll() is None:
            assert time.monotonic() < until_s
            if select.select([self.ours], [], [], 0.1)[0]:
                self.shown += os.read(self.ours, 65536)
        while select.select([self.ours], [], [], 0.1)[0]:
            self.shown += os.read(self.ours, 65536)
        return self.process.returncode


@contextmanager
def terminal(*words: program.Word) -> Iterator[Terminal]:
    opened = Terminal(*words)
    try:
        yield opened
    finally:
        opened.process.kill()
        opened.process.wait()
        os.close(opened.ours)
        os.close(opened.theirs)


@pytest.mark.parametrize("end", [b"q", signal.SIGINT, signal.SIGTERM])
def test_every_way_out_leaves_the_terminal_as_it_was(folder: Path, end: bytes | signal.Signals) -> None:
    with terminal("top", folder, "--interval", "0.1") as view:
        view.shows(b"q quits")
        assert SCREEN in view.shown
        assert termios.tcgetattr(view.theirs) != view.before, "keys are read one by one"
        if isinstance(end, bytes):
            os.write(view.ours, end)
        else:
            view.process.send_signal(end)
        assert view.ends() == 0
        assert BACK in view.shown
        assert termios.tcgetattr(view.theirs) == view.before


def test_other_keys_change_nothing_and_new_rounds_are_shown(tmp_path: Path) -> None:
    rounds = runs.simulated().rounds
    with History.open(tmp_path / "history.sqlite") as history:
        record = history.begin("log-analysis", runs.PIPELINE, policy="mg1", started=runs.STARTED)
        record(rounds[0])
        with terminal("top", tmp_path, "--interval", "0.1") as view:
            view.shows(b"10 s: log-analysis under mg1")
            os.write(view.ours, b"xyz")
            for this in rounds[1:]:
                record(this)
            view.shows(f"{rounds[-1].time_s:.0f} s: log-analysis under mg1".encode())
            os.write(view.ours, b"\x1b")
            assert view.ends() == 0


def test_a_page_that_goes_away_is_shown_as_it_was_last() -> None:
    with serving(runs.board(runs.simulated().rounds)) as address:
        view = Terminal("top", address, "--interval", "0.1")
        view.shows(b"q quits")
    try:
        view.shows(b"no page of a run answers")
        assert b"matcher" in view.shown.rsplit(b"no page of a run", 1)[0][-4000:]
        os.write(view.ours, b"q")
        assert view.ends() == 0
    finally:
        view.process.kill()
        view.process.wait()
        os.close(view.ours)
        os.close(view.theirs)


@dataclass(frozen=True)
class Odd:
    """Nothing that a page would say of a path."""

    mean_s: str = "soon"


def test_a_page_that_is_none_cannot_steer_the_terminal_by_what_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(runs.board(runs.simulated().rounds)) as address, terminal("top", address, "--interval", "0.1") as view:
        view.shows(b"q quits")
        monkeypatch.setattr("mead.web.application.path_times", lambda _: {"\x1b]0;gone\x07": Odd()})
        view.shows(b"this is not the page of a run")
        assert b"\x1b]0;" not in view.shown
        os.write(view.ours, b"q")
        assert view.ends() == 0


def test_one_frame_is_printed_for_scripts(folder: Path) -> None:
    once = program.run("top", folder, "--once", columns=100)
    assert once.exit_code == 0
    assert "log-analysis under mg1, act, over" in once.stdout
    assert "parser>matcher" in once.stdout
    assert "\x1b" not in once.stdout


def test_without_a_terminal_it_looks_once(folder: Path) -> None:
    done = program.started("top", folder)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.count(b"Response time in s") == 1


def test_the_document_says_how_the_run_stands(folder: Path) -> None:
    found = program.answer("top", folder)
    assert (found["pipeline"], found["policy"], found["finished"]) == ("log-analysis", "mg1", True)
    assert found["round"]["number"] == len(runs.simulated().rounds)
    assert found["paths"]["parser>matcher"]["mean_s"] > 0
    assert {one["statistic"] for one in found["requirements"]} == {"mean", "p95"}


def test_by_folder_by_file_and_by_page_it_is_the_same_document(folder: Path) -> None:
    board = runs.board(runs.simulated().rounds)
    board.finish()
    with serving(board) as address:
        by_page = program.answer("top", address)
    by_folder, by_file = program.answer("top", folder), program.answer("top", folder / "history.sqlite")
    assert by_folder == by_file
    assert by_page["round"] == by_folder["round"]
    assert by_page["requirements"] == by_folder["requirements"]


def test_the_newest_run_is_looked_at_unless_another_is_named(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert complaint() == "mead top: there is no run in runs/; give the folder of a run or the address of its page"
    for name, policy in (("older", "mg1"), ("newer", "threshold")):
        (tmp_path / "runs" / name).mkdir(parents=True)
        file = runs.written(tmp_path / "runs" / name / "history.sqlite", runs.simulated(policy))
        os.utime(file, (1e9 + len(policy), 1e9 + len(policy)))
    assert program.answer("top")["policy"] == "threshold"
    assert program.answer("top", folder)["policy"] == "mg1"


def test_what_cannot_be_looked_at_is_said_in_one_line(folder: Path, tmp_path: Path) -> None:
    assert complaint(tmp_path / "nothing").endswith("there is no such file; a run with --history makes one")
    assert "there is no run 7" in complaint(folder, "--run", 7)
    assert "no page of a run answers" in complaint("http://127.0.0.1:1/")
    (tmp_path / "words.sqlite").write_text("these are words, and they are long enough to be no database at all")
    assert complaint(tmp_path / "words.sqlite").endswith("is not a history; name another file")
