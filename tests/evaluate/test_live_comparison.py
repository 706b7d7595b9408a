"""Which live runs a comparison needs; no Spark needed."""

from __future__ import annotations

import pytest

from mead.cli.evaluate.live import LIVE_POLICIES, LIVE_REQUIREMENTS
from mead.evaluate.comparison import PolicyContender
from mead.evaluate.experiment import run
from mead.evaluate.live_comparison import BATCHES, BLIND, LiveRow, in_order, runs_of
from mead.evaluate.workloads import PATH, Workload, required
from mead.knowledge.requirement import Requirement
from mead.plan import registry
from mead.workload.generators.markovian import Markovian

POLICIES = [PolicyContender.of(text) for text in LIVE_POLICIES]
REQUIREMENTS = [required(text) for text in LIVE_REQUIREMENTS]
BURSTS = Workload("bursts", "bursts", 0.0015, Markovian(rate_per_s=330.0, idc=200.0, duration_s=120.0))


def test_the_whole_table_takes_two_runs_and_four_for_each_requirement() -> None:
    runs = runs_of(REQUIREMENTS, POLICIES)
    assert len(runs) == 2 + 4 * 5
    cases = [(this.policy.label, requirement) for this in runs for requirement in this.requirements]
    assert sorted(map(str, cases)) == sorted(str((policy.label, r)) for policy in POLICIES for r in REQUIREMENTS)
    assert len({this.folder for this in runs}) == len(runs), "each has a folder of its own"


def test_all_runs_are_in_micro_batches() -> None:
    (this, *_) = runs_of(REQUIREMENTS, POLICIES)
    pipeline = this.pipeline(BURSTS)
    assert {operator.name: operator.batches for operator in pipeline.operators} == BATCHES
    assert pipeline.requirements == (REQUIREMENTS[0],)


@pytest.mark.parametrize("policy", [*POLICIES, PolicyContender.of("ds2@interval_s=15")], ids=lambda one: one.label)
def test_who_runs_once_decides_alike_under_any_requirement(policy: PolicyContender) -> None:
    """And who runs for each of them does not."""

    def course(requirement: Requirement) -> list[object]:
        done = run(BURSTS.pipeline(requirement), BURSTS.trace(1), registry.policy(policy.options), seed=1)
        return [this.in_force for this in done.rounds]

    alike = course(Requirement(PATH, 0.003)) == course(Requirement(PATH, 50.0))
    assert alike == isinstance(policy.options, BLIND)


def test_rows_are_shown_in_the_order_in_which_they_were_asked_for() -> None:
    rows = [
        LiveRow(requirement, this.policy.label, 0.1, 0.2, True, 0.5, 1, 0.1, 0.2, 0.3, 0.0, 0.4, 0.1)  # noqa: FBT003
        for this in runs_of(REQUIREMENTS, POLICIES)
        for requirement in this.requirements
    ]
    shown = [(row.requirement, row.policy) for row in in_order(rows, REQUIREMENTS, POLICIES)]
    assert shown == [(requirement, policy.label) for requirement in REQUIREMENTS for policy in POLICIES]
    assert rows[0].as_json()["error"] == {"mean": 0.0, "p95": 0.0}
