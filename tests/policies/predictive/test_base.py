from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mead.arrays import FloatArray
from mead.policies import PolicyOptions, decide, make_policy
from mead.policies.predictive.kingman import KingmanOptions
from mead.policies.predictive.map import MapOptions
from mead.policies.predictive.map_network import ArrivalModel
from mead.policies.predictive.mead import MeadOptions
from mead.policies.predictive.mg1 import MG1Options
from mead.policies.predictive.predictions import response_s
from mead.policies.predictive.replay import ReplayOptions
from mead.policies.predictive.replay_network import Draws, WindowReplay
from mead.policies.reasons import FewArrivals, NoRate, OutOfReach, Overload, Predicted, Remark
from mead.queueing import MAP, Arrivals, Edge, Unstable
from mead.values import (
    Allocation,
    Batches,
    Cause,
    Knowledge,
    Observation,
    Operator,
    Pipeline,
    Plan,
    Requirement,
    Resources,
)

if TYPE_CHECKING:
    from tests.policies.conftest import Describer, Observer

OPTIONS: dict[str, PolicyOptions] = {
    "mg1": MG1Options(),
    "kingman": KingmanOptions(),
    "mead": MeadOptions(best=2, max_states=4),
    "map": MapOptions(best=2),
    "replay": ReplayOptions(),
}
EVERY = pytest.mark.parametrize("name", OPTIONS)


def planned(options: PolicyOptions, observation: Observation, pipeline: Pipeline) -> Plan:
    chosen, knowledge = make_policy(options), Knowledge(pipeline)
    return decide(chosen, observation, knowledge)


@EVERY
def test_what_cannot_be_met_is_said_at_once_with_what_comes_closest(
    name: str, log_analysis: Describer, observed: Observer, bursty: FloatArray
) -> None:
    pipeline = log_analysis(bound_s=0.001)
    plan = planned(OPTIONS[name], observed(pipeline, iats_s=bursty), pipeline)
    assert "no allocation meets all requirements, and parser 1, counter 0.4, matcher 1 comes closest" in str(
        plan.reason
    )
    assert "(bound 0.001 s)" in str(plan.reason)
    assert plan.target["matcher"].share == 1.0


@EVERY
def test_overload_is_never_predicted_a_number(
    name: str, log_analysis: Describer, observed: Observer, bursty: FloatArray
) -> None:
    pipeline = log_analysis(demand_s=0.01)
    plan = planned(OPTIONS[name], observed(pipeline, iats_s=bursty), pipeline)
    predicted = plan.predicted["parser>matcher"]
    assert (predicted.mean_s, predicted.p95_s, predicted.stable) == (None, None, False)
    assert [fact.response_s for fact in plan.reason.facts if isinstance(fact, Predicted)] == [None]
    assert "the mean of parser>matcher would grow without end" in str(plan.reason)
    assert plan.predicted["parser>counter"].stable


@EVERY
@pytest.mark.parametrize("percent", [None, 95.0])
def test_the_plan_keeps_the_requirement_by_its_own_prediction(
    name: str, percent: float | None, log_analysis: Describer, observed: Observer, bursty: FloatArray
) -> None:
    pipeline = log_analysis(bound_s=1.0, percent=percent)
    plan = planned(OPTIONS[name], observed(pipeline, iats_s=bursty), pipeline)
    predicted = plan.predicted["parser>matcher"]
    value = predicted.mean_s if percent is None else predicted.p95_s
    assert value is not None
    assert value <= 1.0
    assert set(plan.predicted) == set(pipeline.paths)


def test_knowing_bursts_costs_cpu_that_ignoring_them_does_not(
    log_analysis: Describer, observed: Observer, bursty: FloatArray
) -> None:
    pipeline = log_analysis(bound_s=0.05)
    observation = observed(pipeline, iats_s=bursty)
    cores = {name: planned(options, observation, pipeline).target.cores for name, options in OPTIONS.items()}
    assert cores["mg1"] <= cores["kingman"] <= cores["replay"]
    assert cores["mg1"] < cores["replay"] <= cores["map"]  # which is cautious besides


@EVERY
def test_a_few_arrivals_are_used_if_there_are_enough(
    name: str, log_analysis: Describer, observed: Observer, bursty: FloatArray
) -> None:
    pipeline = log_analysis()
    few = planned(OPTIONS[name], observed(pipeline, iats_s=bursty[:150]), pipeline)
    assert (few.reason.cause, few.reason.facts) == (Cause.TOO_FEW, (FewArrivals(150, 200),))
    enough = planned(OPTIONS[name], observed(pipeline, iats_s=bursty[:600]), pipeline)
    assert "of the last 600 IATs" in str(enough.reason)


@EVERY
def test_a_window_of_equal_stamps_has_no_rate(
    name: str, log_analysis: Describer, observed: Observer, bursty: FloatArray
) -> None:
    """A burst under one coarse stamp fills the shorter window, although the longer one has a rate."""
    pipeline, options = log_analysis(), OPTIONS[name].model_copy(update={"windows": (2_000, 500)})
    iats_s = np.concatenate([bursty[:1_500], np.zeros(500)])
    plan = planned(options, observed(pipeline, iats_s=iats_s), pipeline)
    assert (plan.reason.cause, plan.reason.facts) == (Cause.TOO_FEW, (NoRate(500),))


@EVERY
def test_the_worst_window_counts(name: str, log_analysis: Describer, observed: Observer) -> None:
    rng = np.random.default_rng(2)
    busy, quiet = MAP.poisson(350.0).sample(9_000, rng), MAP.poisson(150.0).sample(4_000, rng)
    pipeline = log_analysis(bound_s=0.03)
    observation = observed(pipeline, iats_s=np.concatenate([busy, quiet]))
    changes: dict[str, Any] = {"one_level_down": False, "cautious": False}
    both = planned(OPTIONS[name].model_copy(update=changes | {"windows": (13_000, 4_000)}), observation, pipeline)
    last = planned(OPTIONS[name].model_copy(update=changes | {"windows": (4_000,)}), observation, pipeline)
    assert last.allocation["matcher"].share == 0.4
    assert both.allocation["matcher"].share > 0.4


def test_what_the_heuristic_gives_up_is_met_all_the_same(observed: Observer) -> None:
    # The first step on the slowest operator gains less than 5 % of the bound, and the bound can yet be met.
    shares = tuple(np.round(np.linspace(0.4, 1.0, 61), 3).tolist())
    required = [Requirement("a", bound_s=0.0013)]
    pipeline = Pipeline("one", [Operator("a", 0.001, shares=shares)], requirements=required)
    plan = planned(MG1Options(one_level_down=False), observed(pipeline, iats_s=np.full(400, 0.01)), pipeline)
    assert Remark.GAVE_UP in plan.reason.facts
    assert plan.predicted["a"].mean_s is not None
    assert plan.predicted["a"].mean_s <= 0.0013


def test_caution_raises_the_rate_by_its_error_and_no_other_statistic(
    log_analysis: Describer, observed: Observer, bursty: FloatArray
) -> None:
    pipeline, chosen = log_analysis(), make_policy(MG1Options(cautious=True))
    (rate,) = chosen.analyze(observed(pipeline, iats_s=bursty), Knowledge(pipeline)).models
    plain = bursty.size / bursty.sum()
    counts = np.histogram(np.cumsum(bursty), bins=10)[0]
    assert rate / plain - 1 == pytest.approx(counts.std(ddof=1) / np.sqrt(10) / counts.mean(), rel=0.01)


BURSTY = MAP.two_state(rate_per_s=330.0, idc=200.0)
WINDOW = BURSTY.sample(2_000, np.random.default_rng(7))
MODELS: dict[str, Any] = {"mg1": 330.0, "kingman": Arrivals(330.0, 5.0), "map": ArrivalModel(BURSTY)}
SHARES = (0.4, 0.55, 0.7, 0.85, 1.0)
LEVEL = st.builds(Resources, st.sampled_from(SHARES), st.integers(1, 2))


@pytest.mark.parametrize("name", [*MODELS, "replay"])
@settings(max_examples=12, deadline=None)
@given(
    demands=st.tuples(st.floats(0.0003, 0.0025), st.floats(0.0003, 0.0025)),
    low=st.tuples(LEVEL, LEVEL),
    more=st.tuples(LEVEL, LEVEL),
    overhead_s=st.none() | st.floats(0.02, 0.2),
    selectivity=st.sampled_from([0.5, 1.0, 2.0]),
)
def test_more_cpu_never_makes_a_predicted_response_longer(
    name: str,
    demands: tuple[float, float],
    low: tuple[Resources, Resources],
    more: tuple[Resources, Resources],
    overhead_s: float | None,
    selectivity: float,
) -> None:
    batches = None if overhead_s is None else Batches(overhead_s)
    operators = [Operator(n, d, batches=batches, max_replicas=2) for n, d in zip("ab", demands, strict=True)]
    pipeline = Pipeline("two", operators, [Edge("a", "b", selectivity)])
    high = [Resources(max(x.share, y.share), max(x.replicas, y.replicas)) for x, y in zip(low, more, strict=True)]
    if name == "kingman":  # by its formula a faster operator smooths less what it sends on, to the harm of the next
        high[0] = low[0]
    model = WindowReplay(WINDOW, Draws(0)) if name == "replay" else MODELS[name]
    before, after = (
        make_policy(OPTIONS[name]).predict(pipeline, Allocation.of(a=a, b=b), [model])[0].paths["a>b"]  # type: ignore[attr-defined]
        for a, b in (low, high)
    )
    assert isinstance(before, Unstable) or not isinstance(after, Unstable)
    # Replicas are one server of their joint speed and a longer service: percentiles of that are a little off. So are
    # those of micro-batches that begin at other moments.
    tolerated = 1e-3 if batches is None and [x.replicas for x in low] == [x.replicas for x in high] else 1e-2
    for percent in (None, 95.0):
        assert response_s(after, percent) <= response_s(before, percent) * (1 + tolerated)


@EVERY
@pytest.mark.parametrize(("demand_s", "share"), [(0.002, 0.7), (0.02, 1.0)])
def test_an_operator_that_nothing_is_required_of_keeps_up_or_is_named(
    name: str, demand_s: float, share: float, observed: Observer
) -> None:
    operators = [Operator("parser", 0.0001), Operator("counter", demand_s), Operator("matcher", 0.0015)]
    edges = [Edge("parser", "counter"), Edge("parser", "matcher")]
    options = OPTIONS[name].model_copy(update={"one_level_down": False})
    for requirements in ([Requirement("parser>matcher", bound_s=1.0)], []):
        pipeline = Pipeline("fork", operators, edges, requirements)
        iats_s = np.random.default_rng(1).exponential(1 / 300, 4_000)
        plan = planned(options, observed(pipeline, iats_s=iats_s), pipeline)
        assert plan.target["counter"].share == share
        assert plan.predicted["parser>counter"].stable is (share < 1)
        assert any(isinstance(fact, OutOfReach) for fact in plan.reason.facts) is (share == 1)
        busy = [fact.operator for fact in plan.reason.facts if isinstance(fact, Overload)]
        assert busy == (["counter"] if share == 1 else [])
