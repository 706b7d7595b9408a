"""What every policy would choose, what would come of it, and the frontier of cost against requirement."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
from rich.table import Table

from mead.policies import KEPT_IATS, make_policy
from mead.policies.adaptive.policy import AdaptiveOptions
from mead.policies.baselines.ds2 import DS2Options
from mead.policies.baselines.static import StaticOptions
from mead.policies.baselines.threshold import ThresholdOptions
from mead.policies.predictive.map import MapOptions
from mead.policies.predictive.mg1 import MG1Options
from mead.policies.predictive.replay import ReplayOptions
from mead.policies.predictive.replay_network import Draws, WindowReplay
from mead.queueing import MAP, Edge
from mead.reports.what_if.frontier import FACTORS
from mead.reports.what_if.what_if import MOST_TUPLES, WhatIf, tail, what_if
from mead.reports.what_if.what_if_report import what_if_tables
from mead.simulator import Simulation, run
from mead.values import Allocation, Batches, Knowledge, Operator, Pipeline, Requirement, Resources
from mead.workload import Trace

PATH = "parser>matcher"
OPERATORS = (Operator("parser", 0.0002), Operator("matcher", 0.0015))
PIPELINE = Pipeline("two", OPERATORS, [Edge("parser", "matcher")], [Requirement(PATH, 0.2)])


@pytest.fixture(scope="module")
def bursty() -> Trace:
    return Trace.from_iats_s(MAP.two_state(330.0, idc=60.0).sample(40_000, np.random.default_rng(3)))


@pytest.fixture(scope="module")
def answer(bursty: Trace) -> WhatIf:
    options = (StaticOptions(), ThresholdOptions(), MG1Options(), ReplayOptions(), DS2Options())
    return what_if(Knowledge(PIPELINE), bursty, options, seed=1)


def test_every_policy_that_plans_names_an_allocation_within_bounds(answer: WhatIf) -> None:
    assert [choice.policy for choice in answer.choices] == ["static", "threshold", "mg1", "replay", "ds2"]
    for choice in answer.choices:
        if choice.policy != "threshold":
            assert choice.allocation is not None
            assert all(choice.allocation[o.name].share in o.shares for o in OPERATORS)
            assert sum(choice.cores.values()) == pytest.approx(choice.allocation.cores)


def test_what_comes_of_a_choice_is_what_the_simulator_says_of_it(answer: WhatIf, bursty: Trace) -> None:
    for choice in answer.choices:
        if choice.allocation is not None:
            simulation = Simulation(PIPELINE, bursty, 1, allocation=choice.allocation)
            simulation.drain()
            response_s = simulation.responses(PATH).response_s
            assert choice.simulated[PATH].mean_s == response_s.mean()
            assert choice.simulated[PATH].p95_s == np.percentile(response_s, 95)
            assert choice.met is bool(response_s.mean() <= 0.2)


def test_a_blind_model_is_seen_to_be_wrong(answer: WhatIf) -> None:
    by_name = {choice.policy: choice for choice in answer.choices}
    mg1, replay = by_name["mg1"], by_name["replay"]
    predicted_s, simulated_s = mg1.predicted[PATH].mean_s, mg1.simulated[PATH].mean_s
    assert predicted_s is not None
    assert simulated_s is not None
    assert predicted_s <= 0.2
    assert simulated_s > 3 * predicted_s
    assert not mg1.met
    assert replay.met
    assert sum(replay.cores.values()) > sum(mg1.cores.values())


def test_a_policy_that_reacts_is_run_and_its_average_counts(answer: WhatIf, bursty: Trace) -> None:
    threshold = next(choice for choice in answer.choices if choice.policy == "threshold")
    result = run(PIPELINE, bursty, make_policy(ThresholdOptions()), seed=1)
    assert threshold.allocation is None
    assert threshold.cores["matcher"] == result.simulation.timeline.mean_cores("matcher", bursty.duration_s)
    assert threshold.simulated[PATH].mean_s == result.simulation.responses(PATH).response_s.mean()


def test_planning_rules_do_not_hide_the_target(bursty: Trace) -> None:
    slow = MG1Options(one_level_down=True, hold_down_s=1e6)
    quick = MG1Options(one_level_down=False)
    first, second = what_if(Knowledge(PIPELINE), bursty, (slow, quick), seed=1).choices
    assert first.allocation == second.allocation != PIPELINE.most


def test_the_frontier_holds_the_cheapest_of_all_allocations(answer: WhatIf, bursty: Trace) -> None:
    window = WindowReplay(bursty.iats_s[-KEPT_IATS:], Draws(seed=0))
    mean_s = {}
    for shares in product(*(operator.shares for operator in OPERATORS)):
        allocation = Allocation.of({o.name: Resources(share) for o, share in zip(OPERATORS, shares, strict=True)})
        mean_s[allocation] = getattr(window.solution(PIPELINE, allocation).paths[PATH], "mean_s", np.inf)
    assert [point.factor for point in answer.frontier] == list(FACTORS)
    for point in answer.frontier:
        enough = [a.cores for a, mean in mean_s.items() if mean <= 0.2 * point.factor]
        assert point.met is bool(enough)
        assert point.requirements[0].bound_s == pytest.approx(0.2 * point.factor)
        if enough:
            assert point.allocation.cores == pytest.approx(min(enough))
    costs = [point.allocation.cores for point in answer.frontier]
    assert all(strict >= loose for strict, loose in pairwise(costs))
    assert costs[0] > costs[-1]


def test_overload_is_said_and_has_no_number(bursty: Trace) -> None:
    low = what_if(Knowledge(PIPELINE), bursty, (StaticOptions(share=0.4),), seed=1).choices[0]
    slow = Pipeline("two", (OPERATORS[0], Operator("matcher", 0.01)), PIPELINE.edges, PIPELINE.requirements)
    hopeless = what_if(Knowledge(slow), bursty, (ThresholdOptions(),), seed=1).choices[0]
    for choice in (low, hopeless):
        assert choice.simulated[PATH].stable is False
        assert choice.simulated[PATH].mean_s is None
        assert choice.met is False


def test_a_policy_without_a_model_of_the_pipeline_says_so_and_the_others_answer(bursty: Trace) -> None:
    batched = Operator("parser", 0.0002, batches=Batches(0.05))
    pipeline = Pipeline("two", [batched, OPERATORS[1]], PIPELINE.edges, PIPELINE.requirements)
    none, some = what_if(Knowledge(pipeline), bursty, (MapOptions(best=1), ReplayOptions()), seed=1).choices
    assert none.met is None
    assert "map has no model of operator 'matcher'" in none.reason
    assert some.met is not None


def test_a_policy_gets_windows_as_long_as_it_asks_for() -> None:
    trace = Trace.from_iats_s(np.random.default_rng(1).exponential(1 / 330, 80_000))
    choice = what_if(Knowledge(PIPELINE), trace, (MG1Options(windows=(70_000,)),), seed=1).choices[0]
    assert "of the last 70000 IATs" in choice.reason


def test_without_requirements_there_is_no_frontier(bursty: Trace) -> None:
    free = Pipeline("two", OPERATORS, PIPELINE.edges)
    answer = what_if(Knowledge(free), bursty, (MG1Options(),), seed=1)
    assert answer.frontier == ()
    assert answer.choices[0].met is True


@pytest.mark.parametrize(
    ("count", "rate_per_s", "expected"),
    [
        (1_000, 10.0, 1_000),  # short: all
        (200_000, 200.0, 120_001),  # ten minutes
        (60_000, 10.0, KEPT_IATS + 1),  # slow: all the IATs that a monitor keeps
        (800_000, 10_000.0, MOST_TUPLES),  # fast: not more than can be looked at at once
    ],
)
def test_the_last_part_of_a_trace(count: int, rate_per_s: float, expected: int) -> None:
    period_us = round(1e6 / rate_per_s)
    last = tail(Trace.from_timestamps_us(np.arange(count) * period_us))
    assert len(last) == expected
    assert last.timestamps_us[-1] == (count - 1) * period_us


FORK = Pipeline(
    "fork",
    [Operator("parser", 0.0001), Operator("counter", 0.002), Operator("matcher", 0.0015)],
    [Edge("parser", "counter"), Edge("parser", "matcher")],
    [Requirement(PATH, 1.0)],
)


def test_a_path_without_requirement_that_is_overloaded_is_shown_and_not_enough() -> None:
    steady = Trace.from_iats_s(np.random.default_rng(1).exponential(1 / 300, 8_000))
    options = (StaticOptions(share=0.55), MG1Options(), ReplayOptions())
    answer = what_if(Knowledge(FORK), steady, options, seed=1)
    starved, *sound = answer.choices
    assert starved.met is False
    assert starved.simulated["parser>counter"].stable is False
    assert starved.simulated[PATH].stable
    for choice in sound:
        assert choice.met is True
        assert choice.cores["counter"] == 0.7
    assert all(point.allocation["counter"].share == 0.7 and point.met for point in answer.frontier[4:])
    titles = [str(part.title) for part in what_if_tables(answer) if isinstance(part, Table)]
    assert [title for title in titles if "parser>counter" in title]


def test_a_filter_behind_a_merge_has_answers_and_a_frontier() -> None:
    pipeline = Pipeline(
        "merge-filter",
        [Operator(name, 0.0005, shares=(0.5, 1.0)) for name in "abcde"],
        [Edge("a", "b"), Edge("a", "c"), Edge("b", "d"), Edge("c", "d"), Edge("d", "e", 0.5)],
        [Requirement("a>b>d>e", 0.1)],
    )
    trace = Trace.from_iats_s(np.random.default_rng(1).exponential(1 / 300, 5_001))
    answer = what_if(Knowledge(pipeline), trace, (ReplayOptions(),), seed=1)
    (choice,) = answer.choices
    assert choice.met is True
    assert choice.predicted["a>c>d>e"].mean_s == pytest.approx(choice.simulated["a>c>d>e"].mean_s, rel=0.1)
    assert len(answer.frontier) == len(FACTORS)


def test_a_model_that_fails_is_a_row_with_the_reason(bursty: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("float division\nby zero")

    monkeypatch.setattr(WindowReplay, "solution", fail)
    answer = what_if(Knowledge(PIPELINE), bursty, (ReplayOptions(), MG1Options()), seed=1)
    failed, other = answer.choices
    assert failed.met is None
    assert failed.reason == "its model failed (ZeroDivisionError: float division by zero)"
    assert other.met is not None
    assert answer.frontier == ()
    assert failed.reason in str(list(what_if_tables(answer))[-1])


def test_a_policy_that_looks_ahead_shows_what_it_predicts(bursty: Trace) -> None:
    knowledge, short = Knowledge(PIPELINE), bursty.between(0.0, 60.0)
    choice = what_if(knowledge, short, (AdaptiveOptions(),), seed=1).choices[0]
    last = run(PIPELINE, short, make_policy(AdaptiveOptions()), seed=1).rounds[-1].plan
    assert last is not None
    assert choice.predicted == last.predicted
    assert choice.predicted[PATH].mean_s is not None


def test_as_many_iats_are_kept_as_the_longest_window_holds() -> None:
    assert AdaptiveOptions(window=KEPT_IATS + 1).kept_iats == KEPT_IATS + 1
    assert ReplayOptions(windows=(200, KEPT_IATS + 2)).kept_iats == KEPT_IATS + 2
    assert StaticOptions().kept_iats == KEPT_IATS


def test_small_micro_batches_are_overloaded_by_their_overhead(bursty: Trace) -> None:
    for most, stable in ((100, True), (10, False)):  # 330/s: 33 batches of 10 take 1.65 s of overhead
        small = Operator("a", 0.0002, batches=Batches(0.05, max_tuples=most))
        choice = what_if(Knowledge(Pipeline("one", [small])), bursty, (StaticOptions(),), seed=1).choices[0]
        assert choice.simulated["a"].stable is stable
        assert choice.met is stable
