"""Why a round decided what it did, in one word: what policies say in each situation, and what becomes of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from mead.arrays import frozen
from mead.history import History
from mead.policies import PolicyOptions, make_policy
from mead.policies.baselines.static import StaticOptions
from mead.policies.baselines.threshold import ThresholdOptions
from mead.policies.drs.policy import DRSOptions
from mead.policies.pasps.dabs import DabsOptions
from mead.policies.predictive.mg1 import MG1Options
from mead.simulator import SimulatedRun, run
from mead.values import (
    Allocation,
    Cause,
    Observation,
    Operator,
    OperatorReading,
    Pipeline,
    Plan,
    Requirement,
    Resources,
    Round,
)
from mead.workload import Trace

LOW, HIGH = Allocation.of(a=Resources(0.4)), Allocation.of(a=Resources(1.0))
NOTHING = frozen([])
SEEN = Observation(10.0, 10.0, LOW, {"a": OperatorReading(10, 10, 0, 0.1)}, {}, NOTHING, NOTHING)


@cache
def words(options: PolicyOptions, bound_s: float = 0.1, rate_per_s: float = 400.0) -> Counter[str]:
    """How often each was said in two minutes on one operator that can serve 1000 tuples a second."""
    return Counter(this.cause.value for this in simulated(options, bound_s, rate_per_s).rounds)


def simulated(options: PolicyOptions, bound_s: float, rate_per_s: float) -> SimulatedRun:
    pipeline = Pipeline("one", [Operator("a", 0.001, max_replicas=2)], requirements=[Requirement("a", bound_s)])
    iats_s = np.random.default_rng(1).exponential(1 / rate_per_s, round(120 * rate_per_s))
    return run(pipeline, Trace.from_iats_s(iats_s), make_policy(options), seed=1)


MG1 = MG1Options(interval_s=10.0, windows=(2000,))


@pytest.mark.parametrize(
    ("options", "bound_s", "said"),
    [
        (MG1, 0.1, {"rules", "spare", "enough"}),  # one level down in each round
        (MG1, 1e-5, {"impossible"}),
        (MG1Options(interval_s=0.1, windows=(2000,)), 0.1, {"too_few"}),
        (StaticOptions(share=0.55), 0.1, {"fixed"}),
        (ThresholdOptions(interval_s=10.0), 0.1, {"spare", "enough"}),
        (DabsOptions(downtime_s=60.0), 0.1, {"under_way", "spare"}),
        (DRSOptions(interval_s=10.0), 0.1, {"rules"}),
    ],
)
def test_policies_say_why(options: PolicyOptions, bound_s: float, said: set[str]) -> None:
    found = words(options, bound_s)
    assert said <= set(found), found
    assert Cause.UNSAID.value not in found


def test_more_is_needed_when_more_arrives() -> None:
    iats_s = np.concatenate([np.full(12_000, 1 / 200), np.full(54_000, 1 / 900)])
    pipeline = Pipeline("one", [Operator("a", 0.001, max_replicas=2)], requirements=[Requirement("a", 0.1)])
    result = run(pipeline, Trace.from_iats_s(iats_s), make_policy(MG1), seed=1)
    for this in result.rounds:
        assert this.observation is not None
        assert this.plan is not None
        more = this.plan.allocation.cores > this.observation.allocation.cores
        assert more <= (this.cause in {Cause.NEEDED, Cause.IMPOSSIBLE}), this.plan.reason
    assert any(this.cause is Cause.NEEDED for this in result.rounds)


def test_what_went_wrong_comes_before_what_the_policy_says() -> None:
    plan = Plan.keep(LOW, "all is well", Cause.ENOUGH)
    said = {
        Cause.ENOUGH: Round(10.0, SEEN, plan),
        Cause.UNUSABLE: Round(10.0, replace(SEEN, missing="no answer"), plan),
        Cause.FAILED: Round(10.0, SEEN, plan, error="execute: OSError"),
        Cause.OBSERVED: Round(10.0, SEEN),
    }
    assert [this.cause for this in said.values()] == list(said)
    assert all(word.meaning for word in Cause)


def test_the_first_advice_is_a_change_if_it_is_another_than_what_is_in_force() -> None:
    keep, move = (Round(10.0, SEEN, Plan.keep(to, "so"), in_force=LOW) for to in (LOW, HIGH))
    assert not keep.changes(None, None)
    assert move.changes(None, None)
    assert not move.changes(LOW, HIGH), "it was advised before"
    assert keep.changes(LOW, HIGH), "the advice is taken back"
    assert not Round(10.0, SEEN, in_force=LOW).changes(HIGH, None), "nothing is planned"


def test_a_history_keeps_the_word_and_knows_none_of_other_times(tmp_path: Path) -> None:
    pipeline = Pipeline("one", [Operator("a", 0.001)])
    with History.open(tmp_path / "history.sqlite") as history:
        record = history.begin("one", pipeline, policy="p", started="2026-01-01T12:00:00Z")
        for word in Cause:
            record(Round(10.0, SEEN, Plan.keep(LOW, "so", word), in_force=LOW))
        assert [one.cause for one in history.decisions(1)] == list(Cause)
        history._connection.execute("UPDATE round SET because = 'by_decree' WHERE number = 1")
        history._connection.execute("UPDATE round SET because = NULL WHERE number = 2")
        assert [one.cause for one in history.decisions(1)][:2] == [Cause.UNSAID] * 2
