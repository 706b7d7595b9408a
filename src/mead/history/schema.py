"""The tables of a history, their versions, and the check that a file is one.

All values are in plain columns, so that any program that reads SQLite can query them.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

APPLICATION = 0x4D454144
"""``MEAD`` in ASCII: SQLite's mark for the kind of a file."""

VERSION = 17

FIGURE = """
CREATE TABLE figure (             -- figures of a whole run, written at its end
    run INTEGER NOT NULL REFERENCES run,
    about TEXT NOT NULL,          -- a path, or empty for the run
    name TEXT NOT NULL,           -- such as p95_s
    value REAL NOT NULL,
    PRIMARY KEY (run, about, name)
) WITHOUT ROWID
"""

MIGRATIONS = {
    1: "ALTER TABLE operator ADD COLUMN throttled_s REAL",
    2: "ALTER TABLE round ADD COLUMN caution REAL",
    3: "ALTER TABLE round ADD COLUMN grounds TEXT",
    4: FIGURE,
    5: "ALTER TABLE path ADD COLUMN expected_mean_s REAL",
    6: "ALTER TABLE round ADD COLUMN because TEXT",
    7: "ALTER TABLE operator ADD COLUMN demand_s REAL",
    8: "ALTER TABLE operator ADD COLUMN overhead_s REAL",
    9: "ALTER TABLE round ADD COLUMN rounds INTEGER",
    10: "ALTER TABLE path ADD COLUMN checked_sum_s REAL",
    11: "ALTER TABLE path ADD COLUMN expected_sum_s REAL",
    12: "ALTER TABLE round ADD COLUMN lasted_s REAL",
    13: "ALTER TABLE round ADD COLUMN cautious INTEGER",
    14: "ALTER TABLE operator ADD COLUMN core_s REAL",
    15: "ALTER TABLE operator ADD COLUMN planned_core_s REAL",
    16: "ALTER TABLE path ADD COLUMN surprises INTEGER",
}
"""By version, the change that its files need. A new column comes last, so that all files have the same order."""

MOST_WAIT_S = 0.25
"""Longest wait for another writer. Rounds that cannot be written now are written with a later one."""

FAULTS = (sqlite3.Error, UnicodeDecodeError)
"""All that SQLite raises. An error that quotes damaged bytes of the file cannot be put into words by the module."""


class HistoryError(Exception):
    """The file cannot be used as a history. The message begins with its path."""


TABLES = """
CREATE TABLE run (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    pipeline TEXT NOT NULL,       -- JSON
    policy TEXT NOT NULL,
    options TEXT NOT NULL,        -- JSON
    engine TEXT NOT NULL,
    mode TEXT NOT NULL,
    workload TEXT NOT NULL,
    started TEXT NOT NULL,
    finished INTEGER NOT NULL     -- 0: it is still running, or it was killed
);

CREATE TABLE round (
    run INTEGER NOT NULL REFERENCES run,
    number INTEGER NOT NULL,      -- from 1
    time_s REAL NOT NULL,         -- since the run began
    observed_s REAL,              -- the time that the readings are of
    interval_s REAL,
    rate_per_s REAL,              -- arrivals at the source
    missing TEXT NOT NULL,
    reason TEXT NOT NULL,
    error TEXT NOT NULL,
    changed INTEGER NOT NULL,     -- whether the plan differs from the one before; in merged rounds, how many do
    applied INTEGER NOT NULL,     -- whether the plan is in force, or ordered
    follows_round INTEGER,        -- the last round before the time of the readings
    follows_change INTEGER,       -- the last round before it that changed what is in force
    observe_s REAL,               -- CPU seconds by phase; NULL if it was not reached
    analyze_s REAL,
    plan_s REAL,
    execute_s REAL,
    caution REAL,                 -- factor by which bounds were tightened; NULL in rounds from before format 3
    grounds TEXT,                 -- JSON: models, and the candidates that were weighed
    because TEXT,                 -- the reason in one word; NULL in rounds from before format 7
    rounds INTEGER,               -- how many rounds this row stands for: old ones are merged; NULL for 1
    lasted_s REAL,                -- time until the next round, added up over merged ones; NULL if not merged
    cautious INTEGER,             -- how many merged rounds have a caution above 1
    PRIMARY KEY (run, number)
) WITHOUT ROWID;

CREATE TABLE operator (
    run INTEGER NOT NULL,
    round INTEGER NOT NULL,
    place INTEGER NOT NULL,       -- in the pipeline
    name TEXT NOT NULL,
    arrived INTEGER,              -- readings, NULL if they are missing
    completed INTEGER,
    backlog INTEGER,
    busy_s REAL,
    seen_share REAL,              -- in force at the time of the readings
    seen_replicas INTEGER,
    before_share REAL,            -- in force, or ordered, before the round
    before_replicas INTEGER,
    share REAL,                   -- and after it
    replicas INTEGER,
    planned_share REAL,
    planned_replicas INTEGER,
    target_share REAL,            -- wanted by the policy before bounds and planning rules
    target_replicas INTEGER,
    throttled_s REAL,             -- a reading; NULL in rounds from before format 2
    demand_s REAL,                -- CPU seconds per tuple, as learned; NULL in rounds from before format 8
    overhead_s REAL,              -- seconds per micro-batch, as learned; NULL too if it works on single tuples
    core_s REAL,                  -- core-seconds in force after merged rounds, each until the next
    planned_core_s REAL,          -- and planned
    PRIMARY KEY (run, round, place)
) WITHOUT ROWID;

CREATE TABLE path (
    run INTEGER NOT NULL,
    round INTEGER NOT NULL,
    place INTEGER NOT NULL,       -- in the pipeline
    name TEXT NOT NULL,
    completed INTEGER,            -- readings, NULL if they are missing
    response_sum_s REAL,
    late INTEGER,
    predicted_mean_s REAL,        -- for the plan; NULL if nothing was predicted
    predicted_p95_s REAL,
    predicted_stable INTEGER,
    expected_mean_s REAL,         -- predicted for the allocation in force; NULL in rounds from before format 6
    checked_sum_s REAL,           -- response times that a prediction preceded; NULL from before format 12
    expected_sum_s REAL,          -- and what it predicted for them
    surprises INTEGER,            -- far from the prediction: the change before this half-minute, and all but its last
    PRIMARY KEY (run, round, place)
) WITHOUT ROWID;
"""

BY_RUN = ("figure", "path", "operator", "round")
"""Tables whose rows belong to a run."""

FOLLOWED = """
SELECT round.run, round.follows_{kind} AS round, path.place,
       max(round.observed_s) AS until_s,
       sum(path.completed) AS completed,
       sum(path.response_sum_s) / nullif(sum(path.completed), 0) AS mean_s,
       sum(path.late) AS late
FROM round JOIN path ON path.run = round.run AND path.round = round.number
WHERE round.missing = '' {which}
GROUP BY round.run, round.follows_{kind}, path.place
"""
"""The tuples of every path after a decision, until the next one of its kind: ``round``, or ``change``."""

EXPECTED = "CASE WHEN decision.applied THEN sooner.predicted_mean_s END"
"""The prediction for the allocation in force, in files that predate the column for it."""

CHECKED = """
SELECT later.name AS path, sum(later.response_sum_s) AS seen_s, sum({expected} * later.completed) AS expected_s
FROM round
JOIN round AS decision ON decision.run = round.run AND decision.number = round.follows_round
JOIN path AS later ON later.run = round.run AND later.round = round.number
JOIN path AS sooner ON sooner.run = round.run AND sooner.round = decision.number AND sooner.place = later.place
WHERE round.run = ? AND round.missing = '' AND {expected} IS NOT NULL AND later.completed > 0
GROUP BY later.place ORDER BY later.place
"""
"""Compares every tuple with the prediction for the allocation in force when it left: for runs from before format 12."""

CHECKED_SUMS = """
SELECT name AS path, sum(checked_sum_s) AS seen_s, sum(expected_sum_s) AS expected_s
FROM path WHERE run = ? AND checked_sum_s + expected_sum_s IS NOT NULL GROUP BY place ORDER BY place
"""
"""The same as the writer added it up."""

EFFECT = """
CREATE VIEW effect_of_{kind} AS
SELECT path.run, path.round, decision.time_s, path.place, path.name AS path,
       path.predicted_mean_s, path.predicted_p95_s, path.predicted_stable,
       later.until_s, later.completed, later.mean_s, later.late
FROM round AS decision
JOIN path ON path.run = decision.run AND path.round = decision.number
LEFT JOIN ({followed}) AS later
ON decision.applied AND later.run = decision.run AND later.round = decision.number AND later.place = path.place
{which};
"""
"""Every decision with its effects, path by path: predicted beside observed. A plan that was not applied has none."""


def _view(kind: str, which: str) -> str:
    return EFFECT.format(kind=kind, which=which, followed=FOLLOWED.format(kind=kind, which=""))


SCHEMA = f"""
BEGIN;
{TABLES}
{FIGURE};
{_view("round", "")}
{_view("change", "WHERE decision.changed")}
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {VERSION};
COMMIT;
"""


def connect(path: Path, *, write: bool) -> sqlite3.Connection:
    """Open the file as a database; with ``write``, create it if it does not exist."""
    if not write and not path.exists():
        raise HistoryError(f"{path}: there is no such file; a run with --history makes one")
    if path.is_dir():
        raise HistoryError(f"{path}: is a folder; name a file")
    if not path.parent.is_dir():
        raise HistoryError(f"{path}: there is no folder {path.parent}; make it first")
    try:
        # The thread that writes may not be the one that opened the file; two threads never use it at once.
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode={'rwc' if write else 'rw'}",
            uri=True,
            timeout=MOST_WAIT_S,
            isolation_level=None,
            check_same_thread=False,
        )
    except sqlite3.Error as error:
        raise HistoryError(f"{path}: cannot be opened ({error})") from error
    try:
        _prepare(connection, path, write=write)
    except FAULTS as error:
        connection.close()
        if getattr(error, "sqlite_errorname", None) == "SQLITE_NOTADB":
            raise _no_history(path, write=write) from error
        raise HistoryError(f"{path}: cannot be {'written' if write else 'read'} ({error})") from error
    except HistoryError:
        connection.close()
        raise
    return connection


def _no_history(path: Path, *, write: bool) -> HistoryError:
    """The error about a file that is not a history.

    A run writes to the history of its folder, whose name the user did not choose.
    """
    instead = "move it away, or choose another folder or file" if write else "name another file"
    return HistoryError(f"{path}: is not a history; {instead}")


def _prepare(connection: sqlite3.Connection, path: Path, *, write: bool) -> None:
    if not write:
        connection.execute("PRAGMA query_only = ON")  # mode=ro could not remove the write-ahead log that it creates
    empty = not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if empty and write:
        connection.execute("PRAGMA journal_mode = WAL")  # readers see the last commit and never wait
        connection.executescript(SCHEMA)
    if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
        raise _no_history(path, write=write)
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version > VERSION:
        raise HistoryError(
            f"{path}: was written by a newer version of MEAD (format {version}, this one reads up to {VERSION}); "
            "update MEAD"
        )
    if write:
        _migrate(connection)
        connection.execute("PRAGMA synchronous = NORMAL")  # a crash of the machine may cost the last rounds, no more


def _migrate(connection: sqlite3.Connection) -> None:
    """Bring an older file up to date. A second writer finds nothing to do."""
    if connection.execute("PRAGMA user_version").fetchone()[0] == VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    for version in range(connection.execute("PRAGMA user_version").fetchone()[0], VERSION):
        connection.execute(MIGRATIONS[version])
    connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")
