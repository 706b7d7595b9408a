from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import numpy as np
import pytest

from mead.arrays import FloatArray
from mead.policies.adaptive.account import usage
from mead.policies.adaptive.kernel import Rule
from mead.policies.adaptive.lookahead import Outlook, State, levels_of, look_ahead
from mead.policies.adaptive.pricing import Rulebook, Setting
from mead.policies.adaptive.rates import learn
from mead.queueing import Edge
from mead.simulator import Responses, Simulation
from mead.values import COUNT_BIN_S, Allocation, Batches, Operator, Pipeline, Requirement, Resources
from mead.workload import KINDS, Trace

DURATION_S = 300.0
BLIND_S = 0.3 * COUNT_BIN_S
"""A fluid knows nothing of the bursts within a bin: so much of a stay at one operator it may miss."""


@cache
def bursty(rate_per_s: float = 330.0) -> Trace:
    generator = KINDS["map"].build(rate_per_s=rate_per_s, idc=100.0, duration_s=DURATION_S)
    return generator.generate(np.random.default_rng(8))


def counted(trace: Trace) -> FloatArray:
    bins = (trace.times_s / COUNT_BIN_S).astype(int)
    return np.bincount(bins, minlength=round(DURATION_S / COUNT_BIN_S)).astype(float)


def fixed(pipeline: Pipeline, trace: Trace, places: Mapping[str, int]) -> dict[str, Rule]:
    """Rules that never leave a level."""
    model = learn(counted(trace).reshape(-1, 10).sum(axis=1), 1.0, most=1000.0)
    rules = Rulebook(1.0).rules(pipeline, model, Setting(dict.fromkeys(pipeline.requirements, 6)), {})
    for name, rule in rules.items():
        costs = np.full_like(rule.costs, 1e9)
        costs[..., places[name]] = 0.0
        rules[name] = rule._replace(costs=costs)
    return rules


def both(pipeline: Pipeline, trace: Trace, places: Mapping[str, int]) -> tuple[Outlook, Simulation]:
    """What is looked ahead to, and what the simulator makes of it, each operator at one level for ever."""
    start = State(dict.fromkeys(places, 0.0), {name: [place] for name, place in places.items()})
    outlook = look_ahead(pipeline, fixed(pipeline, trace, places), counted(trace), start)
    shares = {o.name: Resources(o.shares[places[o.name]]) for o in pipeline.operators}
    simulation = Simulation(pipeline, trace, seed=5, allocation=Allocation.of(shares))
    simulation.drain()
    return outlook, simulation


def arrived_after(responses: Responses, time_s: float) -> FloatArray:
    return np.asarray(responses.response_s[responses.arrival_s >= time_s])


@pytest.mark.parametrize("place", [1, 2, 4])
@pytest.mark.parametrize(
    "batches", [None, Batches(0.04), Batches(0.2, trigger_s=0.5)], ids=["tuples", "batches", "trigger"]
)
def test_one_operator_answers_as_in_the_simulator(place: int, batches: Batches | None) -> None:
    mean, late = Requirement("matcher", 0.5), Requirement("matcher", 1.0, 90)
    pipeline = Pipeline("one", [Operator("matcher", 0.0012, batches=batches)], [], [mean, late])
    outlook, simulation = both(pipeline, bursty(), {"matcher": place})
    responses = simulation.responses("matcher")
    predicted = outlook.predictions["matcher"]
    assert predicted.mean_s == pytest.approx(responses.response_s.mean(), rel=0.03, abs=BLIND_S)
    assert predicted.p95_s == pytest.approx(np.percentile(responses.response_s, 95), rel=0.05, abs=0.5 * COUNT_BIN_S)
    assert outlook.operator_s["matcher"] == pytest.approx(responses.response_s.mean(), rel=0.03, abs=BLIND_S)
    for requirement in (mean, late):
        worst = max(usage(requirement, arrived_after(responses, DURATION_S - s)).mean() for s in (600.0, 300.0, 120.0))
        assert outlook.usage[requirement] == pytest.approx(worst, rel=0.06, abs=0.2)  # of 10 units for one late
    assert outlook.changes_per_s == 0
    assert outlook.cores == pytest.approx((0.55, 0.7, 1.0)[(1, 2, 4).index(place)], rel=0.02)


def test_a_tandem_adds_up_along_its_path() -> None:
    pipeline = Pipeline(
        "tandem",
        [Operator("a", 0.0012), Operator("b", 0.002), Operator("c", 0.0005)],
        [Edge("a", "b", 0.6), Edge("b", "c", 2.0)],
        [Requirement("a>b>c", 1.0)],
    )
    outlook, simulation = both(pipeline, bursty(), {"a": 2, "b": 1, "c": 3})
    exact_s = simulation.responses("a>b>c").response_s
    assert outlook.predictions["a>b>c"].mean_s == pytest.approx(exact_s.mean(), rel=0.03, abs=2 * BLIND_S)
    assert outlook.predictions["a>b>c"].p95_s == pytest.approx(np.percentile(exact_s, 95), rel=0.08)
    assert sum(outlook.operator_s.values()) == pytest.approx(exact_s.mean(), rel=0.03, abs=2 * BLIND_S)


def test_a_fork_has_a_response_on_each_of_its_paths() -> None:
    pipeline = Pipeline(
        "fork",
        [Operator("a", 0.0001), Operator("fast", 0.0005), Operator("slow", 0.0014)],
        [Edge("a", "fast"), Edge("a", "slow")],
        [Requirement("a>fast", 1.0), Requirement("a>slow", 1.0)],
    )
    outlook, simulation = both(pipeline, bursty(), {"a": 4, "fast": 1, "slow": 2})
    for path in ("a>fast", "a>slow"):
        exact_s = simulation.responses(path).response_s.mean()
        assert outlook.predictions[path].mean_s == pytest.approx(exact_s, rel=0.03, abs=BLIND_S)


def test_a_loop_brings_every_operator_its_visits() -> None:
    pipeline = Pipeline(
        "loop",
        [Operator("a", 0.0008), Operator("b", 0.0008)],
        [Edge("a", "b"), Edge("b", "a", 0.3)],
        [Requirement("a>b", 1.0)],
    )
    trace = bursty()
    outlook, simulation = both(pipeline, trace, {"a": 4, "b": 4})
    visits = 1 / 0.7
    assert pipeline.visits["a"] == pytest.approx(visits)
    assert simulation.sent["a>b"] / trace.times_s.size == pytest.approx(visits, rel=0.02)
    # With everything given, an operator is paid for whole; what is done in that time is visible in the mean stay:
    # it is that of one operator that gets all visits at once.
    alone = Pipeline("one", [Operator("a", 0.0008 * visits)], [], [Requirement("a", 1.0)])
    single, _ = both(alone, trace, {"a": 4})
    assert outlook.operator_s["a"] == pytest.approx(single.operator_s["a"], rel=0.03)


def test_what_is_inside_at_the_start_is_waited_for_and_paid_for() -> None:
    pipeline = Pipeline("one", [Operator("matcher", 0.001)], [], [Requirement("matcher", 1.0)])
    trace = bursty()
    rules = fixed(pipeline, trace, {"matcher": 4})
    quiet = np.zeros(50)
    quiet[0] = 10.0
    held = look_ahead(pipeline, rules, quiet, State({"matcher": 2000.0}, {"matcher": [4]}))
    assert held.predictions["matcher"].mean_s == pytest.approx(2.0, abs=0.06)
    flood = look_ahead(pipeline, rules, quiet, State({"matcher": 20_000.0}, {"matcher": [4]}))
    assert flood.predictions["matcher"].mean_s == pytest.approx(20.0, abs=0.1)
    assert flood.cores == pytest.approx(20.01 / 5, rel=0.01)  # CPU seconds to clear it, over 5 s


def test_the_worst_of_the_last_stretches_counts() -> None:
    requirement = Requirement("matcher", 1.0)
    pipeline = Pipeline("one", [Operator("matcher", 0.001)], [], [requirement])
    rules = fixed(pipeline, bursty(), {"matcher": 4})
    counts = np.full(6000, 1.0)
    counts[5900] = 2000.0  # a burst in the last minute
    start = State({"matcher": 0.0}, {"matcher": [4]})
    late = look_ahead(pipeline, rules, counts, start)
    # 2000 tuples come within a bin and leave at 1000/s: 0.95 s each. Those behind them wait for less and less.
    responses_s = 2000 * 0.95 + sum(max(1.95 - 0.1 * k + 0.001 * k, 0) for k in range(1, 21))
    assert late.usage[requirement] == pytest.approx(responses_s / (1200 + 1999), rel=0.02)
    early = look_ahead(pipeline, rules, counts[::-1], start)
    assert early.usage[requirement] == pytest.approx(responses_s / (6000 + 1999), rel=0.03)


def test_the_nearest_level_stands_for_what_is_in_force() -> None:
    pipeline = Pipeline("one", [Operator("matcher", 0.001)], [], [Requirement("matcher", 1.0)])
    rules = fixed(pipeline, bursty(), {"matcher": 4})
    for share, place in ((0.4, 0), (0.55, 1), (0.56, 1), (0.69, 2), (3.0, 4)):
        assert levels_of(Allocation.of(matcher=Resources(share)), rules) == {"matcher": place}


@pytest.mark.parametrize(("rate_per_s", "scv", "place"), [(20.0, 5.0, 4), (20.0, 1.5, 2), (20.0, 10.0, 4)])
def test_few_tuples_of_very_different_sizes_are_late_as_in_the_simulator(
    rate_per_s: float, scv: float, place: int
) -> None:
    def alone(scv: float) -> Pipeline:
        operator = Operator("matcher", 0.4 / rate_per_s, scv=scv)
        return Pipeline("one", [operator], [], [Requirement("matcher", 1.0, 90)])

    trace = KINDS["poisson"].build(rate_per_s=rate_per_s, duration_s=DURATION_S).generate(np.random.default_rng(8))
    outlook, _ = both(alone(scv), trace, {"matcher": place})
    share = Allocation.of(matcher=Resources(alone(scv).operators[0].shares[place]))
    p95_s = []
    for seed in range(8):  # of demands: one run of few tuples says little about them
        simulation = Simulation(alone(scv), trace, seed, allocation=share)
        simulation.drain()
        p95_s.append(float(np.percentile(simulation.responses("matcher").response_s, 95)))
    predicted_s = outlook.predictions["matcher"].p95_s
    assert predicted_s is not None
    assert 0.65 * np.mean(p95_s) < predicted_s < 1.2 * np.mean(p95_s)
    of_mean_size = both(alone(1.0), trace, {"matcher": place})[0].predictions["matcher"].p95_s
    assert of_mean_size is not None
    assert of_mean_size < 0.4 * predicted_s


def test_nothing_is_predicted_where_nothing_comes() -> None:
    pipeline = Pipeline("one", [Operator("only", 0.001)], requirements=[Requirement("only", 0.5)])
    start = State({"only": 0.0}, {"only": [0]})
    outlook = look_ahead(pipeline, fixed(pipeline, bursty(), {"only": 0}), np.zeros(100), start)
    assert outlook.predictions == {}
