"""What ``drs-live`` shows of a round, and the loads that it makes."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from experiments.drs.live import APPLICATIONS, EXAMPLES, FAST, POSTS, SLOW, Decision
from tests.experiments.program import complaint

from mead.policies.drs.facts import Scheduled, Sojourn
from mead.values import Allocation, Cause, Move, Observation, Plan, Reason, Resources, Round

NOW = Allocation.of(extractor=Resources(0.4, 1), matcher=Resources(0.4, 1))
MORE = Allocation.of(extractor=Resources(0.4, 3), matcher=Resources(0.4, 1))


def round_of(model_s: float) -> Round:
    facts = (Scheduled("scale_out", "shortage"), Sojourn(3.0, model_s, 0.5, 2.0, 0.9, None))
    plan = Plan(MORE, MORE, Reason(Cause.NEEDED, facts, Move(NOW, MORE)))
    observation = Observation(10.0, 5.0, NOW, {}, {}, np.empty(0), np.empty(0))
    return Round(10.0, observation, plan)


@pytest.mark.parametrize(("model_s", "shown_s"), [(1.0, 1.5), (inf, None)])
def test_a_decision_has_both_times_and_its_reason(model_s: float, shown_s: float | None) -> None:
    decision = Decision.of(round_of(model_s))
    assert decision is not None
    assert (decision.before, decision.after) == ((1, 1), (3, 1))
    assert (decision.action, decision.measured_s, decision.model_s) == ("scale_out", 3.0, shown_s)
    assert "extractor from 1 to 3 replicas: processors are short; measured 3 s" in decision.reason
    assert Decision.of(Round(10.0)) is None


def test_the_texts_that_are_changed_are_in_the_pipeline_files() -> None:
    for application in APPLICATIONS.values():
        text = (EXAMPLES / f"{application.file}.yaml").read_text()
        assert all(old in text for old in application.changed)


def test_loads_are_as_announced() -> None:
    rng = np.random.default_rng(1)
    frames = APPLICATIONS["logos"].arrivals_s(400.0, rng)
    assert np.sum(frames < 200.0) == pytest.approx(200 * SLOW, rel=0.2)
    assert np.sum((frames >= 200.0) & (frames < 400.0)) == pytest.approx(200 * FAST, rel=0.1)
    posts = APPLICATIONS["patterns"].arrivals_s(100.0, rng)
    assert np.sum(posts <= 1.0) == POSTS
    assert np.sum((posts > 1.0) & (posts < 101.0)) == pytest.approx(32_000, rel=0.02)


def test_an_unknown_application_is_refused() -> None:
    assert "choose from logos, patterns" in complaint("drs-live", "--application", "tweets")
