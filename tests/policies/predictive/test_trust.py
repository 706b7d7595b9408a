"""Predictions that were exceeded make the planner careful: never bolder, never without end, and not for ever."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mead.arrays import FloatArray
from mead.loop import Mode
from mead.policies import decide, make_policy
from mead.policies.predictive.base import Analysis, Predictive, PredictiveOptions
from mead.policies.predictive.kingman import KingmanOptions
from mead.policies.predictive.map import MapOptions
from mead.policies.predictive.mg1 import MG1Options
from mead.policies.predictive.predictions import mean_s
from mead.policies.predictive.replay import ReplayOptions
from mead.policies.predictive.trust import FORGOTTEN, MOST, TOLERATED, Trust
from mead.policies.reasons import TighterBounds
from mead.queueing import MAP, Edge
from mead.simulator import SimulatedRun, run
from mead.values import (
    COUNT_BIN_S,
    Allocation,
    Knowledge,
    Observation,
    Operator,
    OperatorReading,
    PathReading,
    Pipeline,
    Plan,
    Requirement,
    Resources,
)
from mead.workload import Trace

TIMES = st.lists(st.floats(0.001, 1000.0), min_size=1, max_size=30)
OPTIONS: dict[str, PredictiveOptions] = {
    "mg1": MG1Options(interval_s=10.0),
    "kingman": KingmanOptions(interval_s=10.0),
    "replay": ReplayOptions(interval_s=10.0),
    "map": MapOptions(interval_s=10.0, best=2),
}


def caution_after(times: list[float]) -> float:
    trust = Trust()
    for one in times:
        trust.compare("a", one)
    return trust.caution("a")


@given(TIMES)
def test_caution_lies_between_trust_and_its_bound(times: list[float]) -> None:
    assert 1.0 <= caution_after(times) <= MOST


@given(TIMES, st.data())
def test_whoever_was_more_wrong_is_maximum_careful(times: list[float], data: st.DataObject) -> None:
    worse = [one * data.draw(st.floats(1.0, 10.0)) for one in times]
    assert caution_after(worse) >= caution_after(times) - 1e-12


@given(TIMES)
def test_caution_goes_as_predictions_come_true_again(times: list[float]) -> None:
    good = int(np.ceil(np.log(np.log(TOLERATED) / np.log(MOST)) / np.log(1 - FORGOTTEN)))
    assert good < 10
    courses = [caution_after([*times, *[1.0] * n]) for n in range(good + 1)]
    assert courses == sorted(courses, reverse=True)
    assert courses[-1] == 1.0


@given(st.lists(st.floats(0.001, TOLERATED), min_size=1, max_size=50))
def test_small_errors_and_good_surprises_change_nothing(times: list[float]) -> None:
    assert caution_after(times) == 1.0


def test_only_the_path_that_was_wrong_gets_a_tighter_bound() -> None:
    operators = [Operator(name, 0.001) for name in "abc"]
    bounds = [Requirement("a>b", 0.3), Requirement("a>c", 0.2, percent=95.0)]
    pipeline = Pipeline("fork", operators, [Edge("a", "b"), Edge("a", "c")], bounds)
    trust = Trust()
    assert trust.tighten(pipeline) is pipeline
    trust.compare("a>c", 100.0)
    tighter = trust.tighten(pipeline)
    assert tighter.requirements == (bounds[0], Requirement("a>c", 0.2 / trust.caution("a>c"), percent=95.0))
    assert tighter.with_requirements(bounds) == pipeline


def seen(pipeline: Pipeline, iats_s: FloatArray, held: Allocation, time_s: float, mean_s: float) -> Observation:
    tuples = round(10.0 * iats_s.size / iats_s.sum())
    return Observation(
        time_s,
        10.0,
        held,
        {o.name: OperatorReading(tuples, tuples, 0, o.demand_s * tuples) for o in pipeline.operators},
        {path: PathReading(tuples, mean_s * tuples, 0) for path in pipeline.paths},
        iats_s,
        np.full(round(10.0 / COUNT_BIN_S), tuples / 10.0 * COUNT_BIN_S),
    )


def planned(chosen: Predictive[Any], pipeline: Pipeline, observation: Observation) -> Plan:
    knowledge = Knowledge(pipeline)
    return decide(chosen, observation, knowledge)


@pytest.mark.parametrize("name", ["mg1", "kingman", "replay"])
@settings(max_examples=12, deadline=None)
@given(
    demands=st.tuples(st.floats(0.0002, 0.0028), st.floats(0.0002, 0.0028)),
    bound_s=st.floats(0.002, 0.5),
    percent=st.sampled_from([None, 95.0]),
    search=st.sampled_from(["heuristic", "exact"]),
    replicas=st.integers(1, 2),
    mean_s=st.floats(0.001, 5.0),
    seed=st.integers(0, 5),
)
@example(demands=(0.0028, 0.0028), bound_s=0.01, percent=None, search="heuristic", replicas=2, mean_s=5.0, seed=0)
def test_careful_never_gives_less_than_trusting(
    name: str,
    demands: tuple[float, float],
    bound_s: float,
    percent: float | None,
    search: Any,
    replicas: int,
    mean_s: float,
    seed: int,
) -> None:
    operators = [Operator(n, d, max_replicas=replicas) for n, d in zip("ab", demands, strict=True)]
    pipeline = Pipeline("two", operators, [Edge("a", "b")], [Requirement("a>b", bound_s, percent)])
    iats_s = np.random.default_rng(seed).exponential(1 / 300, 400)
    options = OPTIONS[name].model_copy(update={"search": search, "one_level_down": False})
    plans = {}
    for careful in (False, True):
        chosen = make_policy(options.model_copy(update={"careful": careful}))
        assert isinstance(chosen, Predictive)
        observations = [seen(pipeline, iats_s, pipeline.most, 10.0 * (turn + 1), mean_s) for turn in range(4)]
        plans[careful] = [planned(chosen, pipeline, observation) for observation in observations]
    assert plans[True][0].target == plans[False][0].target  # nothing has been learned yet
    for trusting, careful_plan in zip(plans[False], plans[True], strict=True):
        assert trusting.grounds.caution == 1.0
        assert 1.0 <= careful_plan.grounds.caution <= MOST
        for operator in pipeline.operators:
            less, more = trusting.target[operator.name], careful_plan.target[operator.name]
            assert more.share >= less.share
            assert more.replicas >= less.replicas
        if careful_plan.grounds.caution > 1:
            assert any(isinstance(fact, TighterBounds) for fact in careful_plan.reason.facts)
        else:
            assert careful_plan.target == trusting.target


BURSTY = MAP.two_state(rate_per_s=300.0, idc=200.0)
CHAIN = Pipeline(
    "chain",
    [Operator("parser", 0.0001), Operator("matcher", 0.0018)],
    [Edge("parser", "matcher")],
    [Requirement("parser>matcher", 0.05)],
)


@cache
def simulated(name: str, *, careful: bool, mode: Mode = Mode.ACT, calm_after: bool = False) -> SimulatedRun:
    """Bursts that M/G/1 knows nothing of; at the end, Poisson arrivals for long, if wanted."""
    rng = np.random.default_rng(3)
    iats_s = BURSTY.sample(36_000, rng)
    if calm_after:
        iats_s = np.concatenate([iats_s, rng.exponential(1 / 150.0, 60_000)])
    options = OPTIONS[name].model_copy(update={"careful": careful, "windows": (3000,)})
    return run(CHAIN, Trace.from_iats_s(iats_s), make_policy(options), seed=1, mode=mode)


def cautions(result: SimulatedRun) -> list[float]:
    return [this.plan.grounds.caution for this in result.rounds if this.plan is not None]


def test_a_model_that_bursts_prove_wrong_is_made_up_for() -> None:
    trusting, careful = (simulated("mg1", careful=one) for one in (False, True))
    assert set(cautions(trusting)) == {1.0}
    assert max(cautions(careful)) > 2
    means_s, cores = (
        [one.simulation.responses("parser>matcher").response_s.mean() for one in (trusting, careful)],
        [one.simulation.timeline.mean_cores("matcher", one.duration_s) for one in (trusting, careful)],
    )
    assert means_s[1] < means_s[0]
    assert cores[1] > cores[0]


def test_trust_comes_back_when_arrivals_are_what_the_model_takes_them_for() -> None:
    course = cautions(simulated("mg1", careful=True, calm_after=True))
    assert max(course) > 2
    assert course[-1] == 1.0


def test_advice_that_nobody_follows_is_held_against_what_is_in_force() -> None:
    result = simulated("mg1", careful=True, mode=Mode.ADVISE)
    assert all(this.in_force == CHAIN.most for this in result.rounds)
    assert max(cautions(result)) > TOLERATED


def test_a_prediction_of_what_is_not_in_force_teaches_nothing() -> None:
    trust, (low, high) = Trust(), (CHAIN.most.with_("matcher", Resources(s)) for s in (0.4, 1.0))
    trust.expect({low: {"parser>matcher": 0.01}})
    trust.learn(seen(CHAIN, np.full(300, 0.003), high, 10.0, mean_s=5.0))
    assert trust.caution("parser>matcher") == 1.0
    trust.learn(seen(CHAIN, np.full(300, 0.003), low, 20.0, mean_s=5.0))
    assert trust.caution("parser>matcher") == 2.0


def test_overload_and_silence_are_no_predictions_to_learn_from() -> None:
    trust, most = Trust(), CHAIN.most
    trust.expect({most: {"parser>matcher": None}})
    trust.learn(seen(CHAIN, np.full(300, 0.003), most, 10.0, mean_s=5.0))
    trust.expect({most: {"parser>matcher": 0.01}})
    silent = seen(CHAIN, np.full(300, 0.003), most, 20.0, mean_s=5.0)
    trust.learn(replace(silent, paths={"parser>matcher": PathReading(0, 0.0, 0)}))
    assert trust.caution("parser>matcher") == 1.0


@pytest.mark.parametrize("name", OPTIONS)
def test_what_was_weighed_is_what_the_models_predict(name: str) -> None:
    options = OPTIONS[name]
    chosen = make_policy(options)
    assert isinstance(chosen, Predictive)
    iats_s = BURSTY.sample(4_000, np.random.default_rng(1))
    held = CHAIN.most.with_("matcher", Resources(0.85))
    observation = seen(CHAIN, iats_s, held, 10.0, mean_s=0.01)
    analysis = chosen.analyze(observation, Knowledge(CHAIN))
    assert isinstance(analysis, Analysis)
    plan = chosen.plan(observation, analysis, Knowledge(CHAIN))
    weighed = {one.allocation: one.response_s for one in plan.grounds.candidates}
    assert {plan.target, plan.allocation, held} <= set(weighed)
    assert [a.cores for a in weighed] == sorted(a.cores for a in weighed)
    assert len(plan.grounds.models) == len(analysis.models)
    for allocation, (predicted_s,) in weighed.items():
        solutions = chosen.predict(CHAIN, allocation, analysis.models)
        means_s = [mean_s(solution.paths["parser>matcher"]) for solution in solutions]
        known_s = [value for value in means_s if value is not None]
        if len(known_s) < len(means_s):
            assert predicted_s is None
        else:
            assert predicted_s == pytest.approx(max(known_s), rel=1e-6)
