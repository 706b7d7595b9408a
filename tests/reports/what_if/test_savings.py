from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.web import runs

from mead.policies.baselines.static import StaticOptions
from mead.reports.live.board import Board
from mead.reports.live.frame import Frame
from mead.reports.what_if.savings import Savings, advised, figures_of, in_charge, observed
from mead.values import Operator, Pipeline, Requirement

ONE = Pipeline("one", [Operator("a", 0.001, shares=(0.5, 1.0))], requirements=[Requirement("a", 0.5)])


def frames(mode: str, policy: str = "mg1") -> list[Frame]:
    board = Board(runs.facts(policy, mode), wall_s=lambda: 0.0)
    for this in runs.simulated(policy, mode).rounds:
        board.add(this)
    return board.since(0)


def test_advice_is_taken_at_its_word() -> None:
    rounds = runs.simulated("mg1", "advise").rounds
    plans = [this.plan for this in rounds if this.plan is not None]
    assert len(plans) == len(rounds)
    found = advised(frames("advise"), runs.PIPELINE, {"parser>matcher": 3.0})
    assert found is not None
    # Every plan holds for the ten seconds until the next, and the last one is counted for as long.
    assert found.instead == pytest.approx(np.mean([plan.allocation.cores for plan in plans]))
    assert found.in_force == runs.PIPELINE.most.cores
    mean, p95 = runs.PIPELINE.requirements
    predicted = [plan.predicted for plan in plans if plan.predicted]
    assert found.predicted_s[str(mean)] == pytest.approx(np.mean([one[mean.path].mean_s for one in predicted]))
    assert found.predicted_s[str(p95)] == pytest.approx(np.mean([one[p95.path].p95_s for one in predicted]))
    assert f"{1 - found.instead / 3.0:.0%} saved" in str(found)


def test_what_would_have_been_saved_is_told_with_how_far_the_model_was_off() -> None:
    found = advised(frames("advise"), runs.PIPELINE, {"parser>matcher": 3.0, "nobody>asks": 9.0})
    assert found is not None
    highest = max(this.plan.grounds.caution for this in runs.simulated("mg1", "advise").rounds if this.plan)
    assert highest > 1
    said = (
        f"Model error, of what was in force: parser>matcher +300%; bounds were taken up to {highest:.2g} times tighter"
    )
    assert said in str(found)
    assert found.as_json()["model_error"] == {"parser>matcher": 3.0}
    assert found.as_json()["caution"] == highest
    trusted = advised([replace(frame, caution=1.0) for frame in frames("advise")], runs.PIPELINE, {})
    assert "Model error" not in str(trusted)
    assert "tighter" not in str(trusted)


def test_who_only_observes_has_planned_nothing() -> None:
    assert advised(frames("observe"), runs.PIPELINE, {}) is None
    assert advised([], runs.PIPELINE, {}) is None


def test_a_policy_put_in_charge_saves_what_it_would_have_saved() -> None:
    iats_s = np.full(3000, 0.01)  # an operator that is busy for a tenth of the time, and never has two tuples
    found = in_charge(ONE, StaticOptions(share=0.5), iats_s, in_force=1.0)
    assert found is not None
    assert found.instead == pytest.approx(0.5, rel=0.1)  # from all that there is, a second after the start
    assert found.predicted_s[str(ONE.requirements[0])] == pytest.approx(0.002, rel=0.1)
    assert in_charge(ONE, StaticOptions(), np.empty(0), in_force=1.0) is None


def test_what_was_found_in_virtual_time_is_read_again() -> None:
    found = Savings(2.0, 1.25, {"mean of a <= 0.5 s": 0.125}, "somehow")
    kept = {about: {k: v for k, v in named.items() if v is not None} for about, named in figures_of(found).items()}
    again = observed(kept, 2.0, ONE)
    assert again is not None
    assert (again.in_force, again.instead, again.predicted_s) == (2.0, 1.25, found.predicted_s)
    assert figures_of(None) == {}
    assert observed({}, 2.0, ONE) is None


def test_more_than_there_was_is_no_saving() -> None:
    assert "50% more than there were" in str(Savings(2.0, 3.0, {}, "by its plans"))


def test_what_was_in_force_and_is_not_known_was_not_saved() -> None:
    unknown = [replace(frame, cores=None) for frame in frames("advise")]
    assert advised(unknown, runs.PIPELINE, {}) is None
