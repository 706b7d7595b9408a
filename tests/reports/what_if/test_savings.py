from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.web import runs

from mead.policies.baselines.static import StaticOptions
from mead.reports.frames import Frame
from mead.reports.live import Board
from mead.reports.what_if.savings import Savings, plan_savings, recorded_savings, savings_figures, simulated_savings
from mead.values import Operator, Pipeline, Requirement

ONE = Pipeline("one", [Operator("a", 0.001, shares=(0.5, 1.0))], requirements=[Requirement("a", 0.5)])


def frames(mode: str, policy: str = "mg1") -> list[Frame]:
    board = Board(runs.facts(policy, mode), wall_s=lambda: 0.0)
    for this in runs.simulated(policy, mode).rounds:
        board.add(this)
    return board.since(0)


ERRORS = {"parser>matcher": 0.25, "parser>counter": -0.1}


def test_plan_savings_are_the_planned_cores_and_the_predicted_times() -> None:
    rounds = runs.simulated("mg1", "advise").rounds
    plans = [this.plan for this in rounds if this.plan is not None]
    assert len(plans) == len(rounds)
    found = plan_savings(frames("advise"), runs.PIPELINE, ERRORS)
    assert found is not None
    # Every plan holds for the ten seconds until the next, and the last one is counted for as long.
    assert found.instead == pytest.approx(np.mean([plan.allocation.cores for plan in plans]))
    assert found.in_force == runs.PIPELINE.most.cores
    mean, p95 = runs.PIPELINE.requirements
    predicted = [plan.predicted for plan in plans if plan.predicted]
    assert found.predicted_s[str(mean)] == pytest.approx(np.mean([one[mean.path].mean_s for one in predicted]))
    assert found.predicted_s[str(p95)] == pytest.approx(np.mean([one[p95.path].p95_s for one in predicted]))
    assert f"{1 - found.instead / 3.0:.0%} saved" in str(found)


def test_savings_come_with_the_model_error_and_the_caution() -> None:
    found = plan_savings(frames("advise"), runs.PIPELINE, ERRORS)
    assert found is not None
    errors = ERRORS
    assert found.as_json()["model_error"] == errors
    highest = max(this.plan.grounds.caution for this in runs.simulated("mg1", "advise").rounds if this.plan)
    assert highest > 1
    assert f"Model error for the allocation in force: parser>matcher {errors['parser>matcher']:+.0%}, " in str(found)
    assert f"; the bounds were taken up to {highest:.2g} times tighter" in str(found)
    assert found.as_json()["caution"] == highest
    trusted = plan_savings([replace(frame, caution=1.0) for frame in frames("advise")], runs.PIPELINE, ERRORS)
    assert "Model error" in str(trusted)
    assert "tighter" not in str(trusted)
    assert "Model error" not in str(replace(found, model_error={}))


def test_a_run_without_plans_has_no_plan_savings() -> None:
    assert plan_savings(frames("observe"), runs.PIPELINE, {}) is None
    assert plan_savings([], runs.PIPELINE, {}) is None


def test_simulated_savings_are_those_of_the_policy_in_control() -> None:
    iats_s = np.full(3000, 0.01)  # an operator that is busy for a tenth of the time, and never has two tuples
    found = simulated_savings(ONE, StaticOptions(share=0.5), iats_s, in_force=1.0)
    assert found is not None
    assert found.instead == pytest.approx(0.5, rel=0.1)  # from all that there is, a second after the start
    assert found.predicted_s[str(ONE.requirements[0])] == pytest.approx(0.002, rel=0.1)
    assert simulated_savings(ONE, StaticOptions(), np.empty(0), in_force=1.0) is None


def test_savings_are_read_again_from_the_figures_of_a_history() -> None:
    found = Savings(2.0, 1.25, {"mean of a <= 0.5 s": 0.125}, "somehow")
    kept = {about: {k: v for k, v in named.items() if v is not None} for about, named in savings_figures(found).items()}
    again = recorded_savings(kept, 2.0, ONE)
    assert again is not None
    assert (again.in_force, again.instead, again.predicted_s) == (2.0, 1.25, found.predicted_s)
    assert savings_figures(None) == {}
    assert recorded_savings({}, 2.0, ONE) is None


def test_a_policy_that_wants_more_cores_saves_nothing() -> None:
    assert "50% more" in str(Savings(2.0, 3.0, {}, "by its plans"))


def test_without_known_cores_in_force_there_are_no_savings() -> None:
    unknown = [replace(frame, cores=None) for frame in frames("advise")]
    assert plan_savings(unknown, runs.PIPELINE, {}) is None
