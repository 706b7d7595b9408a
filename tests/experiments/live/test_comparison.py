"""Which live runs a comparison needs; no Spark needed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from experiments.commands.live import LIVE_POLICIES, LIVE_REQUIREMENTS
from experiments.comparison import PolicyContender
from experiments.live.comparison import BATCHES, ROWS, LiveComparison, LiveRun, mean_replicas, runs_of
from experiments.live.replicas import REPLICA_POLICIES, REPLICA_REQUIREMENTS, ReplicatedWorkload, flash_crowd, refusal
from experiments.live.rows import LiveRow, in_order, live_table, troubles
from experiments.workloads import PATH, Workload, required
from rich.table import Table
from tests.reports.live_results import live_result, seen

from mead.history import IN_FOLDER, History
from mead.policies import make_policy
from mead.session.result import LiveResult
from mead.simulator import run
from mead.spark.pipeline.build import ARRIVALS
from mead.values import Plan, Prediction, Requirement, Resources
from mead.workload import Markovian

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


@pytest.mark.parametrize(
    "policy", [*POLICIES, *map(PolicyContender.of, ("ds2@interval_s=15", "psps"))], ids=lambda one: one.label
)
def test_who_runs_once_decides_alike_under_any_requirement(policy: PolicyContender) -> None:
    """And who runs for each of them does not."""

    def course(requirement: Requirement) -> list[object]:
        done = run(BURSTS.pipeline(requirement), BURSTS.trace(1), make_policy(policy.options), seed=1)
        return [this.in_force for this in done.rounds]

    alike = course(Requirement(PATH, 0.003)) == course(Requirement(PATH, 50.0))
    assert alike is not policy.options.sees_requirements


@pytest.mark.parametrize("policy", ["static@replicas=1", "threshold", "ds2@interval_s=15", "psps"])
def test_on_two_levels_everybody_looks_at_the_requirement(policy: str) -> None:
    """More tasks than planned clear what waits within the bound, so that one run cannot be judged by every bound."""
    bursts = ReplicatedWorkload("bursts", "bursts", 0.0015, BURSTS.arrivals, most_replicas=4)
    options = PolicyContender.of(f"{policy}@two_level=true").options

    def course(requirement: Requirement) -> list[object]:
        done = run(bursts.pipeline(requirement), bursts.trace(1), make_policy(options), seed=1)
        return [this.in_force for this in done.rounds]

    assert course(Requirement(PATH, 0.003)) != course(Requirement(PATH, 50.0))
    assert options.sees_requirements
    assert len(runs_of(REQUIREMENTS, [PolicyContender.of(f"{policy}@two_level=true")])) == len(REQUIREMENTS)


def test_rows_are_shown_in_the_order_in_which_they_were_asked_for() -> None:
    rows = [
        row_of(requirement, this.policy.label)
        for this in runs_of(REQUIREMENTS, POLICIES)
        for requirement in this.requirements
    ]
    shown = [(row.requirement, row.policy) for row in in_order(rows, REQUIREMENTS, POLICIES)]
    assert shown == [(requirement, policy.label) for requirement in REQUIREMENTS for policy in POLICIES]
    assert rows[0].as_json()["replay_error"] == {"mean": 0.0, "p95": 0.0}


def row_of(requirement: Requirement, policy: str, **changes: Any) -> LiveRow:
    usual: dict[str, Any] = {
        "mean_s": 0.1,
        "p95_s": 0.2,
        "met": True,
        "cores": {"parser": 0.4, "matcher": 0.6},
        "replicas": {"parser": 1.0, "matcher": 1.0},
        "changes": 1,
        "replayed_mean_s": 0.1,
        "replayed_p95_s": 0.2,
        "model_error": None,
        "drained": True,
        "restarts": (),
        "failed_rounds": 0,
        "used": 0.3,
        "throttled": 0.0,
        "java": 0.4,
        "own": 0.1,
    }
    return LiveRow(requirement, policy, **usual | changes)


def column(table: Table, header: str) -> list[str]:
    (found,) = [one for one in table.columns if one.header == header]
    return [str(cell) for cell in found.cells]


def test_a_table_says_which_arrivals_it_is_about() -> None:
    assert "arrivals of some.parquet" in str(live_table([], "arrivals of some.parquet").title)


def test_cores_are_shown_of_those_operators_in_which_rows_differ() -> None:
    one = row_of(REQUIREMENTS[0], "static")
    other = row_of(REQUIREMENTS[0], "adaptive", cores={"parser": 0.4, "matcher": 0.712})
    alone, both = live_table([one], ""), live_table([one, other], "")
    assert column(alone, "cores") == ["0.40:0.60"]
    assert "cores of parser:matcher" in str(alone.title)
    assert column(both, "cores") == ["0.60", "0.71"]
    assert "cores of matcher" in str(both.title)
    assert other.as_json()["cores"] == {"parser": 0.4, "matcher": 0.712}
    assert other.as_json()["cpu_share_mean"] == pytest.approx(0.556)


def test_what_was_replayed_and_what_was_predicted_are_told_apart() -> None:
    """Observed 25 % above what was predicted: 20 % too little was predicted. The twin was 10 % too long."""
    row = row_of(REQUIREMENTS[0], "map", replayed_mean_s=0.11, model_error=0.25)
    table = live_table([row_of(REQUIREMENTS[0], "static"), row], "")
    assert column(table, "replayed") == ["+0%", "+10%"]
    assert column(table, "predicted") == ["-", "-20%"]
    assert row.as_json()["prediction_error"] == {"mean": pytest.approx(-0.2)}


def test_what_did_not_go_through_and_what_failed_is_in_table_and_document() -> None:
    whole = row_of(REQUIREMENTS[0], "static")
    broken = row_of(REQUIREMENTS[0], "adaptive", met=None, drained=False, restarts=("matcher failed",), failed_rounds=2)
    assert column(live_table([whole, broken], ""), "met") == ["yes", "?"]
    assert [text.plain for text in troubles([whole, broken])] == [
        "adaptive, mean 0.5: 1 restarts, 2 failed rounds, some tuples did not leave"
    ]
    document = broken.as_json()
    assert (document["met"], document["drained"]) == (None, False)
    assert (document["restarts"], document["failed_rounds"]) == (["matcher failed"], 2)


def test_replicas_are_shown_where_anybody_had_several() -> None:
    one = live_table([row_of(REQUIREMENTS[0], "static")], "")
    assert "replicas" not in [column.header for column in one.columns]
    several = row_of(REQUIREMENTS[0], "drs", replicas={"parser": 1.0, "matcher": 2.34})
    rows = [row_of(REQUIREMENTS[0], "static"), several]
    both = live_table(rows, "")
    assert column(both, "replicas") == ["1.0", "2.3"]
    assert "replicas of matcher" in str(both.title)
    assert rows[1].as_json()["replicas_mean"] == {"parser": 1.0, "matcher": 2.34}


def test_replicas_are_averaged_over_time() -> None:
    pipeline = ReplicatedWorkload("live", "live", 0.0015, BURSTS.arrivals, most_replicas=4).pipeline(REQUIREMENTS[0])
    few = pipeline.most.with_("matcher", Resources(0.4, 2))
    rounds = [seen(time_s, pipeline, in_force=held) for time_s, held in ((30.0, few), (60.0, few))]
    result = live_result(pipeline, 120.0, {}, rounds=rounds)
    assert mean_replicas(result) == {"parser": 4.0, "counter": 4.0, "matcher": 0.25 * 4 + 0.75 * 2}


@pytest.mark.parametrize("policy", ["drs", "pasps", "psps", "dabs@hold_down_s=20"])
def test_who_changes_replicas_alone_needs_several(policy: str) -> None:
    assert refusal(PolicyContender.of(policy), 1) == (
        f"{policy} changes replicas alone, and operators may have one; give --replicas 2 or more"
    )
    assert refusal(PolicyContender.of(policy), 2) == ""


@pytest.mark.parametrize("policy", ["hybrid", "adaptive", "static", "static@replicas=1", "map", "ds2"])
def test_others_make_do_with_one(policy: str) -> None:
    assert refusal(PolicyContender.of(policy), 1) == ""


def test_one_task_cannot_carry_the_crowd_and_four_can() -> None:
    """In virtual time, where a run takes no time."""
    crowd = ReplicatedWorkload("live", "live", 0.0015, flash_crowd(90.0), most_replicas=4)
    requirement = required(REPLICA_REQUIREMENTS[0])
    means_s = {}
    for policy in ("static@replicas=1", "static"):
        (this,) = runs_of([requirement], [PolicyContender.of(policy)])
        done = run(this.pipeline(crowd), crowd.trace(1), make_policy(this.policy.options), seed=1)
        means_s[policy] = done.simulation.responses(PATH).response_s.mean()
    assert means_s["static@replicas=1"] > 2 * requirement.bound_s
    assert means_s["static"] < 0.7 * requirement.bound_s


@pytest.mark.parametrize("policy", [text for text in REPLICA_POLICIES if not text.startswith("static")])
def test_whoever_changes_replicas_follows_the_crowd(policy: str) -> None:
    """As it will be run live, in virtual time: several replicas in the crowd, and one before it and after it."""
    crowd = ReplicatedWorkload("live", "live", 0.0015, flash_crowd(90.0), most_replicas=4)
    (this,) = runs_of([required(REPLICA_REQUIREMENTS[0])], [PolicyContender.of(policy)])
    done = run(this.pipeline(crowd), crowd.trace(1), make_policy(this.policy.options), seed=1)

    def held(time_s: float) -> int:
        before = [r for r in done.rounds if r.time_s <= time_s and r.in_force is not None]
        return before[-1].in_force["matcher"].replicas  # type: ignore[index]

    assert held(29.0) == 1
    assert held(55.0) >= 2
    assert held(89.0) < held(55.0)


def test_a_row_has_what_the_run_measured_and_what_its_policy_predicted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Ten tuples in every round took half a second each, where the policy had said 0.4 s."""
    (this,) = runs_of([REQUIREMENTS[1]], [PolicyContender.of("mg1")])
    pipeline = this.pipeline(BURSTS)
    plan = replace(Plan.keep(pipeline.most, "it is enough"), predicted=dict.fromkeys(pipeline.paths, Prediction(0.4)))
    rounds = [seen(float(second), pipeline, plan=plan) for second in range(1, 6)]

    def done(_: LiveComparison, run: LiveRun, folder: Path, duration_s: float) -> LiveResult:
        folder.mkdir(parents=True)
        np.save(folder / ARRIVALS, 100_000 * np.arange(50))
        with History.open(folder / IN_FOLDER) as history:
            record = history.begin(str(run), pipeline, policy="mg1", started="")
            for one in rounds:
                record(one)
        took_s = {PATH: [(0.1 * n, 0.5) for n in range(50)]}
        return live_result(pipeline, duration_s, took_s, rounds=rounds, drained=False, restarts=("matcher failed",))

    monkeypatch.setattr(LiveComparison, "_result", done)
    nowhere: Any = None
    comparison = LiveComparison(nowhere, nowhere, BURSTS, BURSTS.trace(1), 5.0, 1, tmp_path, 0.0)
    ((row,),) = comparison.rows([this])
    assert row.mean_s == pytest.approx(0.5, rel=0.02)
    assert row.model_error == pytest.approx(0.25)
    assert row.prediction_error == pytest.approx(-0.2)
    assert 0 < row.replayed_mean_s < row.replayed_p95_s
    assert row.cores == {"parser": 0.4, "counter": 0.4, "matcher": 1.0}
    assert (row.met, row.drained, row.restarts, row.failed_rounds) == (None, False, ("matcher failed",), 0)
    assert json.loads((tmp_path / ROWS).read_text()) == row.as_json()
