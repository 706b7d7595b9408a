"""A session puts policy, loop, record and history together, in virtual time and by the wall clock."""

from __future__ import annotations

import time
from pathlib import Path
from sqlite3 import Connection, ProgrammingError

import numpy as np
import pytest

from mead.history import History, HistoryError
from mead.loop import Mode
from mead.policies.baselines.static import Static, StaticOptions
from mead.policies.baselines.threshold import ThresholdOptions
from mead.policies.predictive.replay import ReplayOptions
from mead.session import Observer, Session
from mead.simulator import Simulation, simulate
from mead.values import Knowledge, Operator, Pipeline, Requirement, Round
from mead.workload import Trace

PIPELINE = Pipeline("one", [Operator("matcher", 0.002)], [], [Requirement("matcher", bound_s=0.5)])
TRACE = Trace.from_iats_s(np.random.default_rng(1).exponential(0.01, 6000))
PATIENCE_S = 60.0


class Told(Observer):
    """Notes what a session tells it."""

    def __init__(self) -> None:
        self.rounds: list[Round] = []
        self.waits: list[str] = []
        self.warnings: list[str] = []

    def round(self, this: Round) -> None:
        self.rounds.append(this)

    def wait(self, doing: str) -> None:
        self.waits.append(doing)

    def warn(self, what: str) -> None:
        self.warnings.append(what)


def test_observers_record_and_history_have_the_same_rounds(tmp_path: Path) -> None:
    file, told = tmp_path / "history.sqlite", Told()
    options = ThresholdOptions(interval_s=5.0)
    with Session(PIPELINE, options, workload="a trace", history=file, observers=[told]) as session:
        done = simulate(session, TRACE, seed=1)
        session.conclude({"matcher": {"p95_s": 0.1}})
    assert [this.time_s for this in told.rounds] == [this.time_s for this in done.rounds]
    assert session.record.rounds == len(told.rounds)
    assert session.learned == told.rounds[-1].learned(PIPELINE)
    with History.read(file) as history:
        (run,) = history.runs()
        past = history.rounds(run.number)
        assert history.figures(run.number) == {"matcher": {"p95_s": 0.1}}
    assert (run.rounds, run.finished, run.interval_s, run.workload) == (len(told.rounds), True, 5.0, "a trace")
    assert [one.demands_s for one in past] == [this.demands_s for this in told.rounds]


def test_what_an_engine_has_to_keep_follows_from_the_options() -> None:
    assert Session(PIPELINE, ReplayOptions(windows=(200, 70_000))).kept_iats == 70_000
    session = Session(PIPELINE, Static(StaticOptions()))
    assert (session.options, session.kept_iats, session.facts.policy) == (None, 50_000, "static")


def test_a_history_that_cannot_be_written_shows_before_anything_starts(tmp_path: Path) -> None:
    with (
        pytest.raises(HistoryError, match="there is no folder"),
        Session(PIPELINE, StaticOptions(), history=tmp_path / "none" / "h.sqlite"),
    ):
        pytest.fail("it was opened")


def test_a_run_that_never_began_is_not_in_its_history(tmp_path: Path) -> None:
    file = tmp_path / "history.sqlite"
    with Session(PIPELINE, StaticOptions(), history=file) as session:
        assert session.number is None
    with History.read(file) as history:
        assert history.runs() == []


def test_a_history_is_closed_if_the_run_cannot_be_added(tmp_path: Path) -> None:
    file = tmp_path / "history.sqlite"
    session = Session(PIPELINE, StaticOptions(), history=file)

    def run() -> None:
        with session:
            connection().execute("PRAGMA query_only = ON")
            simulate(session, TRACE, seed=1)

    def connection() -> Connection:
        assert session._history is not None
        return session._history._connection

    with pytest.raises(HistoryError, match="cannot be written"):
        run()
    with pytest.raises(ProgrammingError, match="closed"):
        connection().execute("SELECT 1")


def test_by_the_wall_clock_the_watching_thread_hands_out_rounds() -> None:
    told = Told()
    session = Session(PIPELINE, StaticOptions(), mode=Mode.OBSERVE, engine="spark", observers=[told])
    session.policy.interval_s = 0.05
    session.begin(Simulation(PIPELINE, TRACE, 1), Knowledge(PIPELINE))
    until_s = time.monotonic() + PATIENCE_S
    while session._waiting.qsize() < 2 and time.monotonic() < until_s:
        time.sleep(0.01)
    assert told.rounds == [], "not the controller"

    def over() -> bool:
        time.sleep(0.01)
        return len(told.rounds) >= 5 or time.monotonic() > until_s

    session.watch(over, told.warn)
    assert session.end(PATIENCE_S)
    assert len(told.rounds) == session.record.rounds >= 5
    assert told.warnings == []
    assert session.iats_s.size


def test_waits_and_warnings_reach_every_observer() -> None:
    first, second = Told(), Told()
    session = Session(PIPELINE, StaticOptions(), observers=[first, second])
    session.wait("starting Spark")
    session.warn("matcher failed")
    for told in (first, second):
        assert (told.waits, told.warnings) == (["starting Spark"], ["matcher failed"])
