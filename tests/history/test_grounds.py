"""Grounds, figures and model errors in a history: what is written is read again, also from older files."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.history.older_files import downgrade
from tests.web import runs

from mead.history import History, HistoryError
from mead.history.grounds_json import grounds_from_json, grounds_to_json
from mead.history.schema import VERSION
from mead.values import Allocation, Candidate, Grounds, Operator, Pipeline, Resources
from mead.values.grounds import NO_GROUNDS

PIPELINE = Pipeline("two", [Operator("parser", 0.001), Operator("matcher", 0.004, max_replicas=4)])
GIVEN = st.builds(Resources, st.sampled_from([0.4, 0.7, 1.0]), st.integers(1, 4))
CANDIDATES = st.builds(
    Candidate,
    st.builds(lambda a, b: Allocation.of(parser=a, matcher=b), GIVEN, GIVEN),
    st.lists(st.none() | st.floats(1e-6, 1e6), max_size=3).map(tuple),
    st.none() | st.floats(-1e3, 1e3),
    st.booleans(),
)


def nearly(value: float | None) -> Any:
    return None if value is None else pytest.approx(value, rel=1e-4)


@given(
    st.builds(
        Grounds,
        st.lists(st.text(max_size=20), max_size=3).map(tuple),
        st.lists(CANDIDATES, max_size=4).map(tuple),
        st.floats(1.0, 4.0),
    )
)
def test_grounds_are_read_as_they_were_written_but_for_digits(grounds: Grounds) -> None:
    text = grounds_to_json(grounds, PIPELINE)
    read = grounds_from_json(text, grounds.caution, PIPELINE)
    assert (read.models, read.caution) == (grounds.models, grounds.caution)
    for one, other in zip(read.candidates, grounds.candidates, strict=True):
        assert one.allocation == other.allocation
        assert one.response_s == tuple(map(nearly, other.response_s))
        assert one.extra_cost == nearly(other.extra_cost)
        assert one.considered == other.considered


def test_what_tells_nothing_takes_no_room() -> None:
    assert grounds_to_json(NO_GROUNDS, PIPELINE) is None
    assert grounds_from_json(None, None, PIPELINE) == NO_GROUNDS


@pytest.fixture
def past(tmp_path: Path) -> Path:
    return runs.written(tmp_path / "history.sqlite", runs.simulated("mg1"))


def test_every_decision_has_its_grounds(past: Path) -> None:
    rounds = runs.simulated("mg1").rounds
    with History.read(past) as history:
        run = history.run(1)
        for nth, this in enumerate(rounds, 1):
            found = history.grounds(run, nth)
            assert this.plan is not None
            assert found.models == this.plan.grounds.models
            assert found.caution == this.plan.grounds.caution
            assert [one.allocation for one in found.candidates] == [
                one.allocation for one in this.plan.grounds.candidates
            ]
        assert [d.caution for d in history.decisions(1)] == [this.plan.grounds.caution for this in rounds if this.plan]
        with pytest.raises(HistoryError, match=f"run 1 has no round 999; its last is {len(rounds)}"):
            history.grounds(run, 999)


def test_model_errors_hold_every_tuple_against_the_prediction_in_force(past: Path) -> None:
    rounds = runs.simulated("mg1").rounds
    expected = {}
    for path in runs.PIPELINE.paths:
        seen_s = predicted_s = 0.0
        for before, after in pairwise(rounds):
            assert before.plan is not None
            assert after.observation is not None
            prediction = before.plan.predicted.get(path)
            if prediction is None or prediction.mean_s is None or before.plan.allocation != before.in_force:
                continue
            seen_s += after.observation.paths[path].response_sum_s
            predicted_s += prediction.mean_s * after.observation.paths[path].completed
        expected[path] = seen_s / predicted_s - 1
    with History.read(past) as history:
        assert history.model_errors(1) == pytest.approx(expected)
    assert expected["parser>matcher"] > 1  # M/G/1 knows no bursts, and these arrivals have them


@pytest.mark.parametrize("policy", ["mg1", "adaptive"])
def test_advice_that_nobody_follows_is_checked_by_what_is_in_force(tmp_path: Path, policy: str) -> None:
    rounds = runs.simulated(policy, "advise").rounds
    path = "parser>matcher"
    seen_s = expected_s = 0.0
    for before, after in pairwise(rounds):
        assert before.plan is not None
        assert after.observation is not None
        kept_s = before.plan.kept_mean_s.get(path)
        if kept_s is not None:
            seen_s += after.observation.paths[path].response_sum_s
            expected_s += kept_s * after.observation.paths[path].completed
    with History.read(runs.written(tmp_path / "h.sqlite", runs.simulated(policy, "advise"), "advise")) as history:
        assert history.model_errors(1)[path] == pytest.approx(seen_s / expected_s - 1)
        every, changes = history.decisions(1), history.decisions(1, changes_only=True)
    assert any(not decision.applied for decision in changes)
    for decision, after in zip(every, rounds[1:], strict=False):
        effect = next(one for one in decision.effects if one.path == path)
        assert after.observation is not None
        assert effect.in_force.mean_s == pytest.approx(after.observation.paths[path].mean_s)
    alone = {decision.round: decision for decision in every}
    assert all(one.effects[1].in_force == alone[one.round].effects[1].in_force for one in changes)


def test_a_surprise_is_far_off_and_was_seen_for_long_enough(past: Path) -> None:
    with History.read(past) as history:
        effects = [effect for decision in history.decisions(1) for effect in decision.effects if effect.times]
    assert any(effect.surprising for effect in effects)
    for effect in effects:
        assert effect.lasted_s == pytest.approx(10.0)
        assert effect.times is not None
        assert effect.surprising == (effect.times >= 2 or effect.times <= 0.5)


def test_figures_are_what_was_concluded(tmp_path: Path) -> None:
    with History.open(tmp_path / "history.sqlite") as history:
        record = history.begin("trial", PIPELINE, policy="static", started=runs.STARTED)
        record.conclude({"parser>matcher": {"p95_s": 0.4, "p99_s": None}, "": {"cores of Java": float("nan")}})
        record.conclude({"parser>matcher": {"p95_s": 0.5}})
        assert history.figures(1) == {"parser>matcher": {"p95_s": 0.5}}
        assert history.figures(2) == {}


def test_an_older_file_is_read_as_it_is_and_brought_up_to_date_by_a_writer(past: Path) -> None:
    with History.read(past) as history:
        errors = history.model_errors(1)
    downgrade(past, 2)
    with History.read(past) as history:
        assert history.model_errors(1) == errors  # of plans that were applied, as ever
        effects = history.decisions(1)[-2].effects
        assert [one.in_force.predicted_mean_s for one in effects] == [
            None if one.predicted is None else one.predicted.mean_s for one in effects
        ]
        assert history.grounds(history.run(1), 3) == NO_GROUNDS
        assert history.figures(1) == {}
        assert {decision.caution for decision in history.decisions(1)} == {1.0}
        assert all(not one.demands_s and not one.overheads_s for one in history.rounds(1)), "unknown"
    runs.written(past, runs.simulated("mg1"))
    with closing(sqlite3.connect(past)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone()[0] == VERSION
    with History.read(past) as history:
        assert history.grounds(history.run(1), 3) == NO_GROUNDS
        assert history.grounds(history.run(2), 3).candidates
        assert history.model_errors(1) == history.model_errors(2) == errors
        assert not history.rounds(1)[-1].demands_s
        assert history.rounds(2)[-1].demands_s == runs.simulated("mg1").rounds[-1].demands_s


@pytest.mark.parametrize("spoilt", ["{", "null", "{}", "7"])
def test_what_no_run_has_written_is_refused_in_one_line(past: Path, spoilt: str) -> None:
    with closing(sqlite3.connect(past)) as connection:
        connection.execute("UPDATE run SET pipeline = ?", (spoilt,))
        connection.commit()
    with History.read(past) as history, pytest.raises(HistoryError, match="holds values that no run writes"):
        history.runs()
