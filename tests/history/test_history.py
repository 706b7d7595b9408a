from __future__ import annotations

import logging
import sqlite3
import subprocess
import sys
import textwrap
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mead import simulator as experiment
from mead.history import History, HistoryError, recorder
from mead.history.schema import BY_RUN, VERSION
from mead.loop import Mode
from mead.queueing import Edge
from mead.simulator import FaultyMetrics
from mead.values import (
    NOTHING_SAMPLED,
    Allocation,
    Batches,
    Cause,
    Knowledge,
    Note,
    Observation,
    Operator,
    OperatorReading,
    PathReading,
    Pipeline,
    Plan,
    Prediction,
    Reason,
    Requirement,
    Resources,
    Round,
)
from mead.workload import Trace

PIPELINE = Pipeline(
    "two",
    [Operator("parser", 0.001), Operator("matcher", 0.004, max_replicas=2)],
    [Edge("parser", "matcher")],
    [Requirement("parser>matcher", bound_s=0.05)],
)
PATH = "parser>matcher"
TRACE = Trace.from_timestamps_s(np.cumsum(np.random.default_rng(5).exponential(0.006, 10_000)))
LOW = Allocation.of(parser=Resources(1.0), matcher=Resources(0.85, 1))
STARTED = "2026-01-01T12:00:00Z"


class SeeSaw:
    """A policy that goes down and up again every few rounds, and predicts."""

    name = "see-saw"
    interval_s = 1.0

    def analyze(self, observation: Observation, knowledge: Knowledge) -> float:
        del knowledge
        if 20 <= observation.time_s < 22:
            raise ZeroDivisionError("no model")
        return observation.time_s

    def plan(self, observation: Observation, analysis: float, knowledge: Knowledge) -> Plan:
        del observation
        wanted = LOW if analysis // 7 % 2 else knowledge.pipeline.most
        low = LOW.with_("matcher", Resources(0.55))
        return Plan(
            wanted,
            low,
            Reason(Cause.UNSAID, (Note(f"see-saw at {analysis:g} s"),)),
            {PATH: Prediction(0.01 * analysis, None)},
        )


def past(path: Path, **options: Any) -> experiment.SimulatedRun:
    """A run of the see-saw, which is in the file afterwards."""
    with History.open(path) as history:
        mode = options.get("mode", Mode.ACT).value
        record = history.begin("trial", PIPELINE, policy="see-saw", started=STARTED, mode=mode, batch=7)
        done = experiment.run(PIPELINE, TRACE, SeeSaw(), seed=2, **options)
        for this in done.rounds:
            record(this)
    return done


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "history.sqlite"


def numbered(time_s: float, **changes: Any) -> Round:
    """A round with nothing special about it."""
    observation = Observation(
        time_s=time_s,
        interval_s=1.0,
        allocation=LOW,
        operators={name: OperatorReading(10, 10, 0, 0.1) for name in LOW},
        paths={PATH: PathReading(10, 0.5, 1)},
        iats_s=np.full(9, 0.1),
        counts=np.full(20, 1.0),
    )
    usual: dict[str, Any] = {"observation": observation, "plan": Plan.keep(LOW, "usual"), "in_force": LOW}
    return Round(time_s, **usual | changes)


def test_a_run_is_described_as_it_was_begun(path: Path) -> None:
    pipeline = Pipeline(
        "batches",
        [Operator("parser", 0.1, 0.0, (0.5, 1.0)), Operator("matcher", 0.2, batches=Batches(0.1, max_tuples=5))],
        [Edge("parser", "matcher", 0.5), Edge("matcher", "parser", 0.25)],
        [Requirement("parser>matcher", 0.5, 95.0)],
    )
    with History.open(path) as history:
        record = history.begin(
            "mine",
            pipeline,
            policy="map",
            options={"windows": (50_000, 25_000), "file": Path("x.yaml")},
            engine="spark",
            mode="advise",
            workload="trace.parquet, seed 1",
            started=STARTED,
        )
        record(Round(1.0))
        [unfinished] = history.runs()
    with History.read(path) as history:
        run = history.run(1)
    assert run.pipeline == pipeline
    assert (run.name, run.policy, run.engine, run.mode) == ("mine", "map", "spark", "advise")
    assert (run.workload, run.started) == ("trace.parquet, seed 1", STARTED)
    assert run.options == {"windows": [50_000, 25_000], "file": "x.yaml"}
    assert (unfinished.finished, run.finished) == (False, True)


def _kept(reading: OperatorReading) -> OperatorReading:
    """Samples of single tuples serve the round in which they were taken, and are not kept."""
    return replace(reading, iats=NOTHING_SAMPLED, services=NOTHING_SAMPLED)


def test_every_round_can_be_read_as_it_was(path: Path) -> None:
    run = past(path)
    with History.read(path) as history:
        rounds = history.rounds(1)
        decisions = history.decisions(1)
        assert history.run(1).errors == 2
    assert len(rounds) == len(run.rounds)
    before = PIPELINE.most
    for told, decision, this in zip(rounds, decisions, run.rounds, strict=True):
        assert this.observation is not None
        assert this.plan is not None
        assert told.time_s == decision.time_s == this.time_s
        assert told.operators == {name: _kept(reading) for name, reading in this.observation.operators.items()}
        assert told.paths == this.observation.paths
        assert told.phase_s == this.phase_s
        assert told.in_force == this.in_force
        assert told.error == decision.error == this.error
        assert told.interval_s == 1.0
        assert (decision.before, decision.after, decision.target) == (before, this.plan.allocation, this.plan.target)
        assert decision.reason == str(this.plan.reason)
        assert decision.effects[0].predicted == this.plan.predicted.get(PATH)
        before = this.in_force or before
    arrivals = np.searchsorted(TRACE.times_s, [29.0, 30.0])
    assert rounds[29].rate_per_s == pytest.approx(float(np.diff(arrivals)[0]), abs=1)  # bins end on microseconds


def test_only_new_rounds_are_read_if_asked_so(path: Path) -> None:
    run = past(path)
    with History.read(path) as history:
        assert [r.round for r in history.rounds(1, after=50, limit=3)] == [51, 52, 53]
        assert history.rounds(1, after=len(run.rounds)) == []
        assert [d.round for d in history.decisions(1, limit=2)] == [len(run.rounds) - 1, len(run.rounds)]


@pytest.mark.parametrize("late_s", [0.0, 3.0])
def test_a_change_is_held_against_what_was_seen_until_the_next(path: Path, late_s: float) -> None:
    """Also where metrics are late: they are of the allocation that was in force when they were true."""
    run = past(path, metrics=FaultyMetrics(late_s=late_s, missing=((30.0, 33.0),)))
    timeline = run.simulation.timeline
    seen: dict[float, list[float]] = defaultdict(lambda: [0, 0.0, 0])
    for this in run.rounds:
        observation = this.observation
        if observation is not None and not observation.missing:
            in_force_since_s = max(t for t in timeline.times_s if t < observation.time_s)
            reading = observation.paths[PATH]
            for i, value in enumerate((reading.completed, reading.response_sum_s, reading.late)):
                seen[in_force_since_s][i] += value
    with History.read(path) as history:
        changes = history.decisions(1, changes_only=True)
    assert [c.time_s for c in changes] == timeline.times_s[1:]
    assert [c.after for c in changes] == timeline.allocations[1:]
    for change in changes:
        [effect] = change.effects
        completed, sum_s, late = seen[change.time_s]
        assert (effect.completed, effect.late) == (completed, late)
        assert effect.mean_s == (pytest.approx(sum_s / completed) if completed else None)
        assert effect.predicted is not None
        assert effect.predicted.mean_s is not None
        if completed:
            assert effect.times == pytest.approx(sum_s / completed / effect.predicted.mean_s)


@pytest.mark.parametrize(("kind", "changes_only"), [("round", False), ("change", True)])
@pytest.mark.parametrize("mode", [Mode.ACT, Mode.ADVISE])
@pytest.mark.parametrize("limit", [None, 3])
def test_the_views_say_the_same(path: Path, kind: str, changes_only: bool, mode: Mode, limit: int | None) -> None:  # noqa: FBT001
    past(path, mode=mode, metrics=FaultyMetrics(late_s=2.0))
    with History.read(path) as history:
        decisions = history.decisions(1, changes_only=changes_only, limit=limit)
        view = history._connection.execute(f"SELECT * FROM effect_of_{kind} ORDER BY round, place").fetchall()  # noqa: S608
    told = [(d.round, d.time_s, e.path, e.completed, e.mean_s, e.late) for d in decisions for e in d.effects]
    assert told == [
        (row["round"], row["time_s"], row["path"], row["completed"] or 0, row["mean_s"], row["late"] or 0)
        for row in view[-len(told) :]
    ]
    assert limit is not None or len(told) == len(view)


def test_advice_is_not_held_against_what_followed(path: Path) -> None:
    past(path, mode=Mode.ADVISE)
    with History.read(path) as history:
        changes = history.decisions(1, changes_only=True)
    assert len(changes) > 4
    down = [c for c in changes if c.after == LOW]
    assert all(c.before == PIPELINE.most and not c.applied and c.effects[0].mean_s is None for c in down)


def test_an_observer_has_rounds_and_no_decisions(path: Path) -> None:
    past(path, mode=Mode.OBSERVE)
    with History.read(path) as history:
        assert all(d.after is None and not d.changed for d in history.decisions(1))
        assert history.rounds(1)[-1].paths[PATH].completed > 0


def test_an_order_that_failed_is_a_change_that_was_not_applied(path: Path) -> None:
    high = PIPELINE.most
    with History.open(path) as history:
        record = history.begin("trial", PIPELINE, policy="p", started=STARTED)
        record(numbered(1.0, in_force=high, error="execute: PermissionError: no"))
        record(numbered(2.0, in_force=LOW))
        failed, done = history.decisions(1, changes_only=True)
    assert (failed.applied, failed.before, failed.after) == (False, high, LOW)
    assert (done.applied, done.before, done.after) == (True, high, LOW)


def test_a_file_holds_several_runs_even_written_at_once(path: Path) -> None:
    with History.open(path) as one, History.open(path) as other:
        first = one.begin("first", PIPELINE, policy="p", started=STARTED)
        second = other.begin("second", PIPELINE, policy="p", started=STARTED)
        for time_s in (1.0, 2.0, 3.0):
            first(numbered(time_s))
            second(numbered(10 * time_s))
    with History.read(path) as history:
        assert [(run.name, run.rounds, run.duration_s) for run in history.runs()] == [
            ("first", 3, 3.0),
            ("second", 3, 30.0),
        ]
        assert [r.time_s for r in history.rounds(2)] == [10.0, 20.0, 30.0]


def test_old_runs_are_forgotten_with_all_that_belongs_to_them(path: Path) -> None:
    with History.open(path) as history:
        for name in ("first", "second", "third"):
            record = history.begin(name, PIPELINE, policy="p", started=STARTED)
            record(numbered(1.0))
            record.conclude({PATH: {"p95_s": 1.0}})
        assert (history.keep(2), history.keep(2), history.keep(9)) == (1, 0, 0)
    with History.open(path) as history:
        assert [(run.number, run.name, run.rounds) for run in history.runs()] == [(2, "second", 1), (3, "third", 1)]
        assert history.figures(2) == {PATH: {"p95_s": 1.0}}
        with pytest.raises(HistoryError, match="there is no run 1; those that it has are 2 to 3"):
            history.run(1)
        history.begin("fourth", PIPELINE, policy="p", started=STARTED)
        assert history.runs()[-1].number == 4, "a number means one run for ever"
    with closing(sqlite3.connect(path)) as connection:
        left = [connection.execute(f"SELECT min(run) FROM {table}").fetchone()[0] for table in BY_RUN]  # noqa: S608
        assert left == [2] * len(BY_RUN)


def python(code: str, *arguments: object) -> subprocess.Popen[str]:
    """A process of its own, which has the names of this module."""
    head = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); from test_history import *\n"
    return subprocess.Popen(
        [sys.executable, "-c", head + textwrap.dedent(code), *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_another_process_can_read_while_a_run_is_written(path: Path) -> None:
    reader = """
        with History.read(Path(sys.argv[1])) as history:
            for line in sys.stdin:
                print(len(history.rounds(1)), len(history.decisions(1)), flush=True)
        """
    with History.open(path) as history:
        record = history.begin("trial", PIPELINE, policy="p", started=STARTED)
        with python(reader, path) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            for turn in range(1, 6):
                record(numbered(float(turn)))
                process.stdin.write("look\n")
                process.stdin.flush()
                assert process.stdout.readline().split() == [str(turn), str(turn)]
            process.stdin.close()


@pytest.mark.parametrize("batch", [1, 10])
def test_a_writer_that_is_killed_loses_one_batch_at_most(path: Path, batch: int) -> None:
    writer = """
        with History.open(Path(sys.argv[1])) as history:
            record = history.begin("trial", PIPELINE, policy="p", started=STARTED, batch=int(sys.argv[2]))
            for turn in range(1, 1_000_000):
                record(numbered(float(turn)))
                print(turn, flush=True)
        """
    with python(writer, path, batch) as process:
        assert process.stdout is not None
        while int(process.stdout.readline()) < 257:
            pass
        process.kill()
        told = [int(line) for line in process.stdout.read().splitlines() if line.isdecimal()]
    reported = max([257, *told])
    with History.read(path) as history:
        run, rounds = history.run(1), history.rounds(1)
    assert not run.finished
    assert reported - batch < len(rounds) <= reported + batch
    assert [r.round for r in rounds] == list(range(1, len(rounds) + 1))
    assert rounds[-1].operators == {name: OperatorReading(10, 10, 0, 0.1) for name in LOW}
    with History.open(path) as history:  # and goes on
        history.begin("next", PIPELINE, policy="p", started=STARTED)(numbered(1.0))
        assert [run.rounds for run in history.runs()] == [len(rounds), 1]


def test_a_locked_file_stops_nothing_and_is_made_up_for(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with History.open(path) as history:
        record = history.begin("trial", PIPELINE, policy="p", started=STARTED)
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        for turn in range(1, 8):
            record(numbered(float(turn)))
        assert history.rounds(1) == []
        other.execute("ROLLBACK")
        other.close()
        for turn in range(8, 20):
            record(numbered(float(turn)))
        assert [r.time_s for r in history.rounds(1)] == list(range(1, 20))
    assert [r.getMessage() for r in caplog.records] == [
        f"{path} cannot be written (database is locked); control goes on, and later rounds try again",
        f"{path} is written again; it lacks 0 rounds",
    ]


def test_a_full_disk_stops_nothing_and_is_reported_once(
    path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder, "MOST_WAITING", 100)
    with History.open(path) as history:
        record = history.begin("trial", PIPELINE, policy="p", started=STARTED)
        pages = history._connection.execute("PRAGMA page_count").fetchone()[0]
        history._connection.execute(f"PRAGMA max_page_count = {pages + 1}")
        for turn in range(1, 600):
            record(numbered(float(turn)))
        written = len(history.rounds(1))
        assert 0 < written < 100
        assert len(caplog.records) == 1
        assert "disk is full" in caplog.text
        history._connection.execute(f"PRAGMA max_page_count = {2**30}")
        record.flush()
        times_s = [r.time_s for r in history.rounds(1)]
    assert times_s[-1] == 599
    assert len(times_s) + record.lost == 599


def test_a_failure_of_the_run_is_no_end_of_it(path: Path) -> None:
    history = History.open(path)
    history.begin("trial", PIPELINE, policy="p", started=STARTED, batch=100)(numbered(1.0))
    history.__exit__(KeyboardInterrupt)
    with History.read(path) as history:
        [run] = history.runs()
    assert (run.finished, run.rounds) == (False, 1)


def test_a_run_that_never_began_leaves_the_one_before_the_last(path: Path) -> None:
    with History.open(path) as history:
        history.begin("first", PIPELINE, policy="p", started=STARTED)(numbered(1.0))
    refused = History.open(path)
    refused.begin("refused", PIPELINE, policy="p", started=STARTED)
    refused.__exit__(ValueError)
    with History.read(path) as history:
        assert [(run.name, run.finished) for run in history.runs()] == [("first", True)]


NUMBERS = st.one_of(st.floats(), st.integers(-(2**70), 2**70), st.floats().map(np.float64), st.just(np.int64(7)))
READINGS = st.fixed_dictionaries(
    {},
    optional={
        "time_s": NUMBERS,
        "interval_s": st.floats(),
        "missing": st.text(st.characters()),
        "operators": st.dictionaries(
            st.sampled_from(["matcher", "ghost"]), st.builds(OperatorReading, NUMBERS, NUMBERS, NUMBERS, NUMBERS)
        ),
        "paths": st.dictionaries(st.just(PATH), st.builds(PathReading, NUMBERS, NUMBERS, NUMBERS)),
        "allocation": st.builds(
            Allocation.of, st.dictionaries(st.just("matcher"), st.builds(Resources, NUMBERS, NUMBERS))
        ),
        "counts": st.lists(st.floats(), max_size=3).map(np.array),
    },
)


@pytest.fixture(scope="module")
def one_file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[History]:
    with History.open(tmp_path_factory.mktemp("history") / "history.sqlite") as history:
        yield history


@settings(max_examples=50, deadline=None)
@given(
    rounds=st.lists(
        st.builds(
            lambda readings, mean_s, error: numbered(
                1.0,
                observation=replace(numbered(1.0).observation, **readings),  # type: ignore[type-var]
                plan=replace(Plan.keep(LOW, error), predicted={PATH: Prediction(mean_s, mean_s)}),
                error=error,
            ),
            READINGS,
            NUMBERS | st.none(),
            st.text(st.characters()),
        ),
        min_size=1,
        max_size=3,
    )
)
def test_whatever_a_round_holds_it_is_written_without_a_word_and_can_be_read(
    one_file: History, rounds: list[Round]
) -> None:
    record = one_file.begin("trial", PIPELINE, policy="p", started=STARTED)
    for this in rounds:
        record(this)
    assert record.lost == 0
    assert len(one_file.rounds(record.run)) == len(one_file.decisions(record.run)) == len(rounds)
    for table in ("round", "operator", "path"):
        for row in one_file._connection.execute(f"SELECT * FROM {table} WHERE run = {record.run}"):  # noqa: S608
            assert all(isfinite(value) for value in row if isinstance(value, float))
            assert not any(isinstance(value, bytes) for value in row)


def test_a_round_that_makes_no_sense_at_all_is_left_out(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with History.open(path) as history:
        record = history.begin("trial", PIPELINE, policy="p", started=STARTED)
        record(numbered(1.0, plan="go"))
        record(numbered(2.0, plan="go"))
        record(numbered(3.0))
        assert [r.time_s for r in history.rounds(1)] == [3.0]
    assert record.lost == 2
    assert [record.levelno for record in caplog.records] == [logging.WARNING]


def test_a_file_from_before_there_was_throttling_is_read_and_goes_on(path: Path) -> None:
    from tests.history.older_files import downgrade  # programs of this file import it from its own folder

    with History.open(path) as history:
        history.begin("old", PIPELINE, policy="p", started=STARTED)(numbered(1.0))
    downgrade(path, 1)
    with History.read(path) as history:
        assert history.rounds(1)[0].operators == {name: OperatorReading(10, 10, 0, 0.1) for name in LOW}
    throttled = {name: OperatorReading(10, 10, 0, 0.1, throttled_s=0.3) for name in LOW}
    this = numbered(1.0)
    assert this.observation is not None
    for _ in range(2):  # the second finds it up to date
        with History.open(path) as history:
            seen = replace(this.observation, operators=throttled)
            history.begin("new", PIPELINE, policy="p", started=STARTED)(numbered(1.0, observation=seen))
            assert history.rounds(history.runs()[-1].number)[0].operators == throttled
            assert history.rounds(1)[0].operators == {name: OperatorReading(10, 10, 0, 0.1) for name in LOW}


def plain_text(path: Path) -> None:
    path.write_text("time_s,share\n1,0.4\n" * 100)


def other_database(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE run (number INTEGER)")
    connection.close()


def from_the_future(path: Path) -> None:
    History.open(path).__exit__(None)
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {VERSION + 1}")
    connection.close()


def with_damaged_tables(path: Path) -> None:
    """SQLite's error quotes the damaged bytes, which no text can hold."""
    History.open(path).__exit__(None)
    path.write_bytes(path.read_bytes().replace(b"CREATE TABLE figure", b"CREATE TAB\x81E figure"))


@pytest.mark.parametrize("use", [History.open, History.read])
@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (plain_text, "is not a history; (name another file|move it away, or choose another folder or file)"),
        (other_database, "is not a history; (name another file|move it away, or choose another folder or file)"),
        (
            from_the_future,
            f"a newer version of MEAD .format {VERSION + 1}, this one reads up to {VERSION}.; update MEAD",
        ),
        (Path.mkdir, "is a folder; name a file"),
        (with_damaged_tables, "cannot be (read|written)"),
    ],
)
def test_a_file_that_is_no_history_is_refused_and_left_alone(
    path: Path, make: Callable[[Path], None], complaint: str, use: Callable[[Path], History]
) -> None:
    make(path)
    before = path.read_bytes() if path.is_file() else b""
    with pytest.raises(HistoryError, match=complaint):
        use(path)
    assert before == (path.read_bytes() if path.is_file() else b"")


def test_a_run_is_told_to_move_away_what_is_no_history(path: Path) -> None:
    plain_text(path)
    with pytest.raises(HistoryError, match="; move it away, or choose another folder or file"):
        History.open(path)
    with pytest.raises(HistoryError, match="; name another file"):
        History.read(path)


def test_a_file_that_is_not_there_is_not_made_by_looking(path: Path) -> None:
    with pytest.raises(HistoryError, match="there is no such file"):
        History.read(path)
    assert not path.exists()
    with pytest.raises(HistoryError, match="there is no folder"):
        History.open(path / "deeper" / "file.sqlite")


def test_a_run_that_is_not_there_is_named(path: Path) -> None:
    with History.open(path) as history:
        with pytest.raises(HistoryError, match="there is no run 1; it has none"):
            history.run(1)
        history.begin("trial", PIPELINE, policy="p", started=STARTED)
        with pytest.raises(HistoryError, match="there is no run 7; those that it has are 1 to 1"):
            history.run(7)
