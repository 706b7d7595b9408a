from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from tests.web import runs

from mead.reports.judge import CountedTimes
from mead.reports.live import model_error

MEAN, P95 = runs.PIPELINE.requirements


def test_requirements_are_judged_by_every_tuple_that_left() -> None:
    result = runs.simulated()
    frames = runs.board(result.rounds).since(0)
    until_s = result.rounds[-1].time_s
    for requirement in (MEAN, P95):
        left = result.simulation.responses(requirement.path)
        response_s = left.response_s[left.arrival_s + left.response_s <= until_s]
        found = CountedTimes(frames).whole(requirement)
        assert found.completed == pytest.approx(response_s.size, rel=1e-3)
        if requirement.percent is None:
            assert found.response_s == pytest.approx(response_s.mean(), rel=1e-2)
            assert found.broken == (response_s.mean() > requirement.bound_s)
        else:
            assert found.late == pytest.approx((response_s > requirement.bound_s).mean(), abs=1e-3)
            assert found.broken == (np.percentile(response_s, 95) > requirement.bound_s)


def test_nothing_that_left_breaks_nothing() -> None:
    found = CountedTimes([]).whole(MEAN)
    assert (found.broken, found.used, found.response_s) == (False, None, None)


def test_the_model_error_is_observed_over_predicted() -> None:
    frames = runs.board(runs.simulated().rounds).since(0)
    error = model_error(frames, MEAN.path)
    assert error is not None
    assert error > 1  # M/G/1 knows no bursts, and these arrivals have them
    assert model_error(frames[:1], MEAN.path) is None


@pytest.mark.parametrize("policy", ["mg1", "adaptive"])
def test_in_mode_advise_the_model_error_is_that_of_what_is_in_force(policy: str) -> None:
    rounds = runs.simulated(policy, "advise").rounds
    frames = runs.board(rounds, mode="advise").since(0)
    seen_s = expected_s = 0.0
    for before, after in pairwise(rounds):
        assert before.plan is not None
        assert after.observation is not None
        kept_s = before.plan.kept_mean_s.get(MEAN.path)
        if kept_s is not None:
            seen_s += after.observation.paths[MEAN.path].response_sum_s
            expected_s += kept_s * after.observation.paths[MEAN.path].completed
    assert model_error(frames, MEAN.path) == pytest.approx(seen_s / expected_s - 1)
    if policy == "adaptive":  # it knows the bursts of the past: half as much again would be much
        assert abs(seen_s / expected_s - 1) < 0.5
    else:
        assert seen_s / expected_s > 10
