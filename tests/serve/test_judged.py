from __future__ import annotations

import numpy as np
import pytest
from tests.serve import runs

from mead.serve.judged import judged, model_error

MEAN, P95 = runs.PIPELINE.requirements


def test_requirements_are_judged_by_every_tuple_that_left() -> None:
    result = runs.simulated()
    frames = runs.board(result.rounds).since(0)
    until_s = result.rounds[-1].time_s
    for requirement in (MEAN, P95):
        left = result.simulation.responses(requirement.path)
        response_s = left.response_s[left.arrival_s + left.response_s <= until_s]
        found = judged(frames, requirement)
        assert found.completed == pytest.approx(response_s.size, rel=1e-3)
        if requirement.percent is None:
            assert found.response_s == pytest.approx(response_s.mean(), rel=1e-2)
            assert found.broken == (response_s.mean() > requirement.bound_s)
        else:
            assert found.late == pytest.approx((response_s > requirement.bound_s).mean(), abs=1e-3)
            assert found.broken == (np.percentile(response_s, 95) > requirement.bound_s)


def test_nothing_that_left_breaks_nothing() -> None:
    found = judged([], MEAN)
    assert (found.broken, found.used, found.response_s) == (False, None, None)


def test_the_model_error_is_observed_over_predicted() -> None:
    frames = runs.board(runs.simulated().rounds).since(0)
    error = model_error(frames, MEAN.path)
    assert error is not None
    assert error > 1  # M/G/1 knows no bursts, and these arrivals have them
    assert model_error(frames[:1], MEAN.path) is None
