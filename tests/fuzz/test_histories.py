"""Histories that no run wrote, by the hundred: each command shows them, or says in one line which cell is wrong."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.program import run
from tests.fuzz.effort import tried
from tests.web import runs

from mead.history import History, HistoryError
from mead.history.schema import BY_RUN
from mead.reports.live import HistoryBoard

COMMANDS = (
    ("history",),
    ("history", "--run", "-1"),
    ("history", "--run", "-1", "--changes", "--json"),
    ("report", "--json"),
    ("explain", "last"),
    ("top", "--json", "--once"),
)
cells = (
    st.none()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.sampled_from(
        [0, 1, -1, 2**62, 1e300, -1e300, float("inf"), 0.5, "", "{}", "[]", "null", "NaN", '{"models":1}']
    )
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
    | st.binary(max_size=6)
)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = runs.written(tmp_path_factory.mktemp("histories") / "good.sqlite", runs.simulated())
    with History.open(file) as history:
        history._connection.execute("INSERT INTO figure VALUES (1, 'parser>matcher', 'p95_s', 0.3)")
        history._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return file


def columns(file: Path) -> list[tuple[str, str]]:
    with closing(sqlite3.connect(file)) as connection:
        return [
            (table, row[1]) for table in ("run", *BY_RUN) for row in connection.execute(f"PRAGMA table_info({table})")
        ]


def ask(file: Path, words: tuple[str, ...]) -> None:
    """An answer, or one line that begins with the file."""
    head, *rest = words
    result = run(head, *(["last", str(file)] if head == "explain" else [str(file), *rest]), columns=200)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    if result.exit_code:
        assert result.exit_code == 2, (result.exit_code, result.output)
        assert result.stderr.startswith(f"mead {head}: {file}: "), result.stderr
        assert result.stderr.count("\n") == 1, result.stderr
        assert len(result.stderr) < 1000


@given(st.data(), st.sampled_from(COMMANDS))
@tried(100)
def test_any_cell_may_hold_anything(written: Path, data: st.DataObject, words: tuple[str, ...]) -> None:
    file = written.with_name("cells.sqlite")
    shutil.copyfile(written, file)
    places = st.sampled_from(columns(written))
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        for table, column in data.draw(st.lists(places, min_size=1, max_size=2)):
            value = data.draw(cells)
            which = data.draw(st.sampled_from(["1", "rowid_of % 5 = 3", "rowid_of = 1"])).replace(
                "rowid_of", {"run": "number", "round": "number", "figure": "run"}.get(table, "round")
            )
            with suppress(sqlite3.IntegrityError):
                connection.execute(f"UPDATE OR IGNORE {table} SET {column} = ? WHERE {which}", (value,))  # noqa: S608
    ask(file, words)


@given(st.sampled_from(["DELETE FROM", "DROP TABLE"]), st.sampled_from(["run", *BY_RUN]), st.sampled_from(COMMANDS))
@tried(15)
def test_any_table_may_be_missing_or_empty(written: Path, what: str, table: str, words: tuple[str, ...]) -> None:
    file = written.with_name("tables.sqlite")
    shutil.copyfile(written, file)
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute(f"{what} {table}")
    ask(file, words)


@given(st.sampled_from(["operator", "path"]), st.sampled_from(COMMANDS))
@tried(6)
def test_a_round_may_lack_its_parts(written: Path, table: str, words: tuple[str, ...]) -> None:
    file = written.with_name("parts.sqlite")
    shutil.copyfile(written, file)
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute(f"DELETE FROM {table} WHERE round = 3 AND place = 0")  # noqa: S608
    ask(file, words)


@given(st.integers(0, 200_000), st.sampled_from(COMMANDS))
@tried(25)
def test_a_file_may_end_anywhere(written: Path, length: int, words: tuple[str, ...]) -> None:
    file = written.with_name("cut.sqlite")
    content = written.read_bytes()
    file.write_bytes(content[: length % len(content)])
    ask(file, words)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("UPDATE round SET time_s = 'soon' WHERE number = 3", "run 1, round 3: round.time_s is 'soon', not a finite"),
        ("UPDATE round SET interval_s = 9e999 WHERE number = 2", "run 1, round 2: round.interval_s is inf, not a"),
        ("UPDATE operator SET replicas = 'two' WHERE round = 4", "run 1, round 4: operator.replicas is 'two', not a w"),
        ("UPDATE path SET completed = x'00ff' WHERE round = 5", "run 1, round 5: path.completed is b'\\x00\\xff', not"),
        ("UPDATE figure SET value = 'much'", "run 1: figure.value is 'much', not a finite number"),
        ("UPDATE run SET finished = 'no'", "run 1: run.finished is 'no', not a whole number"),
    ],
)
def test_a_wrong_cell_is_named(written: Path, tmp_path: Path, change: str, said: str) -> None:
    file = tmp_path / "wrong.sqlite"
    shutil.copyfile(written, file)
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute(change)
    result = run("report", file, "--json")
    assert result.exit_code == 2
    assert result.stderr.startswith(f"mead report: {file}: {said}")
    assert result.stderr.endswith("; the file is damaged: restore a copy of it, or choose another file or folder\n")


def test_the_page_of_a_damaged_history_says_which_cell_it_is(written: Path, tmp_path: Path) -> None:
    file = tmp_path / "wrong.sqlite"
    shutil.copyfile(written, file)
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("UPDATE path SET late = 'none' WHERE round = 2")
    with History.read(file) as history, pytest.raises(HistoryError, match=r"run 1, round 2: path\.late is 'none'"):
        HistoryBoard(history, history.run(1), wall_s=lambda: 0.0).follow()


def test_every_column_has_a_type_that_is_checked(written: Path) -> None:
    with closing(sqlite3.connect(written)) as connection:
        for table in ("run", *BY_RUN):
            kinds: list[Any] = [row[2] for row in connection.execute(f"PRAGMA table_info({table})")]
            assert set(kinds) <= {"INTEGER", "REAL", "TEXT"}
