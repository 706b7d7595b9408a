from __future__ import annotations

from pathlib import Path

import pytest
from tests.web import runs

from mead.history import History
from mead.reports.live import list_decisions


@pytest.mark.parametrize("changes_only", [True, False])
@pytest.mark.parametrize("policy", ["mg1", "threshold"])
def test_effects_are_those_of_the_history(tmp_path: Path, policy: str, changes_only: bool) -> None:  # noqa: FBT001
    result = runs.simulated(policy)
    ours = list(list_decisions(runs.board(result.rounds).since(0), changes_only=changes_only))
    with History.read(runs.written(tmp_path / "history.sqlite", result)) as history:
        theirs = history.decisions(1, changes_only=changes_only)
    assert [one.frame.number for one in ours] == [one.round for one in theirs]
    assert len(ours) > 4
    for one, other in zip(ours, theirs, strict=True):
        for effect in other.effects:
            mine = one.effects[effect.path]
            assert mine.completed == effect.completed
            assert mine.observed_mean_s == pytest.approx(effect.mean_s)
            assert mine.predicted_mean_s == (None if effect.predicted is None else effect.predicted.mean_s)


def test_the_last_decision_is_still_open() -> None:
    found = list(list_decisions(runs.board(runs.simulated().rounds).since(0), changes_only=True))
    assert [one.until_s for one in found[:-1]] == [one.frame.time_s for one in found[1:]]
    assert found[-1].until_s is None


def test_the_last_few_are_those_of_all() -> None:
    frames = runs.board(runs.simulated().rounds).since(0)
    every = list(list_decisions(frames, changes_only=True))
    assert list(list_decisions(frames, changes_only=True, limit=3)) == every[-3:]


def test_without_rounds_nothing_was_decided() -> None:
    assert list(list_decisions([], changes_only=True)) == []
