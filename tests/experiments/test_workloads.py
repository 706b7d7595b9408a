"""What the policies are tried on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from experiments.workloads import Workload, chosen, generated, live_maps, recorded, required, synt

from mead.workload import Trace

TRACE = Trace.from_iats_s(np.full(1000, 0.01))
"""100/s for 10 s."""


def test_the_paper_has_three_traces_and_says_how_to_give_the_one_that_is_missing() -> None:
    workloads, missing = chosen({}, (), 60.0)
    assert [workload.name for workload in workloads] == ["synt", "lm"]
    assert "--trace bc=FILE" in missing
    workloads, missing = chosen({"bc": TRACE}, (), 60.0)
    assert [workload.name for workload in workloads] == ["synt", "bc", "lm"]
    assert not missing


def test_a_trace_that_the_paper_does_not_have_is_run_alone_unless_others_are_named() -> None:
    assert [workload.name for workload in chosen({"mine": TRACE}, (), 60.0)[0]] == ["mine"]
    assert [workload.name for workload in chosen({"mine": TRACE, "lm": None}, (), 60.0)[0]] == ["mine", "lm"]


def test_only_picks_and_complains_about_what_is_not_there() -> None:
    assert [workload.name for workload in chosen({"bc": TRACE}, ["bc"], 60.0)[0]] == ["bc"]
    with pytest.raises(ValueError, match=r"'other'.*synt, bc, lm"):
        chosen({"bc": TRACE}, ["other"], 60.0)
    with pytest.raises(ValueError, match="Bellcore trace is not part of this program; give it by --trace bc=FILE"):
        chosen({}, ["bc"], 60.0)


def test_an_unknown_trace_loads_a_full_share_to_one_half_unless_its_demand_is_given() -> None:
    assert recorded("mine", TRACE).demand_s * TRACE.rate_per_s == pytest.approx(0.5)
    assert recorded("mine", TRACE, demand_s=0.003).demand_s == 0.003
    assert recorded("bc", TRACE).demand_s == 0.0015
    assert [w.demand_s for w in chosen({"bc": TRACE}, (), 60.0, demand_s=0.002)[0]] == [0.002] * 3


def test_a_recorded_trace_is_cut_to_its_first_part() -> None:
    assert recorded("mine", TRACE, duration_s=4.0).trace(1).duration_s == pytest.approx(4.0)
    assert recorded("mine", TRACE, duration_s=1800.0).trace(1).duration_s == pytest.approx(10.0)


def test_a_seed_changes_generated_arrivals_and_leaves_recorded_ones_alone() -> None:
    assert len(synt(20.0).trace(1)) != len(synt(20.0).trace(2))
    mine = recorded("mine", TRACE)
    assert mine.trace(1) is mine.trace(2)


def test_only_the_matcher_can_be_given_more() -> None:
    pipeline = live_maps(20.0).pipeline(required("p99=2"))
    assert {operator.name: len(operator.shares) for operator in pipeline.operators} == {
        "parser": 1,
        "counter": 1,
        "matcher": 5,
    }
    # The paper's CPU percentage at full share: (0.4 + 0.4 + 1.0) / 3.
    assert pipeline.most.mean_cores == pytest.approx(0.6)


def test_all_operators_can_be_free_with_the_same_requirement_on_both_paths() -> None:
    pipeline = replace(live_maps(20.0), free=True, others=0.8).pipeline(required("p99=2"))
    assert [len(operator.shares) for operator in pipeline.operators] == [5, 5, 5]
    assert [operator.demand_s for operator in pipeline.operators] == pytest.approx([0.0012, 0.0012, 0.0015])
    assert {(r.path, r.bound_s, r.percent) for r in pipeline.requirements} == {
        ("parser>matcher", 2.0, 99.0),
        ("parser>counter", 2.0, 99.0),
    }


@pytest.mark.parametrize("text", ["mean", "median=3", "p95", "p=3", "p101=1", "mean=-1", "mean=fast", "=3", "pmax=1"])
def test_a_requirement_that_is_none_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match=r"mean=0\.3 or p95=0\.5"):
        required(text)


@pytest.mark.parametrize("workload", generated(60.0), ids=lambda workload: workload.name)
def test_generated_workloads_stay_below_one_core_on_average(workload: Workload) -> None:
    trace = workload.trace(1)
    assert 0.25 < trace.rate_per_s * workload.demand_s < 0.95
    assert trace.duration_s == pytest.approx(60.0, abs=1.0)
