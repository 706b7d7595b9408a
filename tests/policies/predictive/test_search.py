from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mead.policies.predictive.mg1 import _poisson
from mead.policies.predictive.predictions import meets, meets_all, memoize, overloads
from mead.policies.predictive.replay_network import Draws, WindowReplay
from mead.policies.predictive.search import Predictor, exact_search, heuristic_search, involved, most_that_helps, trim
from mead.policies.predictive.stations import solve_operators
from mead.queueing import Arrivals, Edge, NetworkSolution
from mead.queueing.queues.wait_and_service import WaitAndService
from mead.values import Allocation, Operator, Pipeline, Requirement, Resources


def log_analysis(bound_s: float, percent: float | None = None) -> Pipeline:
    return Pipeline(
        "log-analysis",
        [Operator("parser", 0.0001), Operator("counter", 0.0001), Operator("matcher", 0.0015)],
        [Edge("parser", "counter"), Edge("parser", "matcher")],
        [Requirement("parser>matcher", bound_s=bound_s, percent=percent)],
    )


def predictor(of: Pipeline, rate_per_s: float) -> Predictor:
    def predict(allocation: Allocation) -> NetworkSolution:
        return solve_operators(of, allocation, Arrivals(rate_per_s, 1.0), _poisson)

    return memoize(predict)


def test_both_searches_raise_only_the_operator_that_needs_it() -> None:
    wanted = log_analysis(bound_s=0.01)
    for search in (heuristic_search, exact_search):
        found = search(wanted, predictor(wanted, 330.0))
        assert {name: r.share for name, r in found.items()} == {"parser": 0.4, "counter": 0.4, "matcher": 0.7}


def test_an_overloaded_operator_is_raised_however_little_a_step_gains() -> None:
    wanted = log_analysis(bound_s=0.05)
    assert heuristic_search(wanted, predictor(wanted, 600.0))["matcher"].share == 1.0


def test_where_nothing_helps_the_exact_search_names_what_comes_closest() -> None:
    wanted = log_analysis(bound_s=0.0001)
    found = exact_search(wanted, predictor(wanted, 330.0))
    assert {name: r.share for name, r in found.items()} == {"parser": 1.0, "counter": 0.4, "matcher": 1.0}


def test_operators_that_cannot_help_get_the_least() -> None:
    pipeline = Pipeline(
        "merge",
        [Operator(name, 0.001) for name in "abcd"],
        [Edge("a", "c"), Edge("b", "c"), Edge("b", "d")],
        [Requirement("a>c", bound_s=1.0)],
    )
    assert involved(pipeline, *pipeline.requirements) == {"a", "b", "c"}
    assert most_that_helps(pipeline, predictor(pipeline, 100.0))["d"] == pipeline.operator("d").least


def test_replicas_are_added_where_the_highest_share_is_not_enough() -> None:
    pipeline = Pipeline(
        "one", [Operator("matcher", 0.0015, max_replicas=4)], requirements=[Requirement("matcher", bound_s=0.02)]
    )
    predict = predictor(pipeline, 1000.0)
    assert heuristic_search(pipeline, predict)["matcher"] == Resources(0.85, 2)
    found = exact_search(pipeline, predict)["matcher"]
    assert meets(predict(Allocation.of(matcher=found)), pipeline.requirements[0])
    assert 1.5 < found.cores <= 1.7


def test_the_dear_operator_gets_less_and_the_cheap_one_more() -> None:
    def tandem(price: float) -> Pipeline:
        operators = [Operator("a", 0.001, price=price), Operator("b", 0.001)]
        return Pipeline("tandem", operators, [Edge("a", "b")], [Requirement("a>b", bound_s=0.0045)])

    for search in (heuristic_search, exact_search, trim):
        dear, cheap = (search(p, predictor(p, 250.0)) for p in (tandem(3.0), tandem(1 / 3)))
        assert dear["a"].share < dear["b"].share
        assert cheap["a"].share > cheap["b"].share


def test_two_small_replicas_may_be_cheaper_than_a_large_one() -> None:
    matcher = Operator("matcher", 0.0015, shares=(0.5, 1.0), price=(1.0, 4.0), max_replicas=2)
    pipeline = Pipeline("one", [matcher], requirements=[Requirement("matcher", bound_s=0.01)])
    assert exact_search(pipeline, predictor(pipeline, 330.0))["matcher"] == Resources(0.5, 2)


def test_an_operator_on_no_required_path_keeps_up_all_the_same() -> None:
    operators = [Operator("parser", 0.0001), Operator("counter", 0.002), Operator("matcher", 0.0015)]
    edges = [Edge("parser", "counter"), Edge("parser", "matcher")]
    for requirements in ([Requirement("parser>matcher", bound_s=1.0)], []):
        pipeline = Pipeline("fork", operators, edges, requirements)
        predict = predictor(pipeline, 300.0)
        for search in (heuristic_search, exact_search, trim):
            found = search(pipeline, predict)
            assert found["counter"].share == 0.7  # 0.6 cores are busy
            assert found["parser"].share == 0.4
            assert not overloads(predict(found))


def test_an_operator_beside_the_path_is_kept_from_overload_by_models_that_do_not_see_its_effect() -> None:
    pipeline = Pipeline(
        "joined",
        [Operator("a", 0.0001), Operator("b", 0.002, max_replicas=2), Operator("sink", 0.0001)],
        [Edge("a", "sink"), Edge("b", "sink")],
        [Requirement("a>sink", bound_s=1.0)],
    )
    predict = predictor(pipeline, 600.0)
    for search, cores in ((heuristic_search, 1.4), (exact_search, 1.4), (trim, 1.4)):
        assert search(pipeline, predict)["b"].cores == pytest.approx(cores)


def test_what_never_keeps_up_gets_all_and_those_behind_it_what_they_need() -> None:
    pipeline = Pipeline(
        "row", [Operator("a", 0.01), Operator("b", 0.002), Operator("c", 0.0001)], [Edge("a", "b"), Edge("b", "c")]
    )
    window = WindowReplay(np.full(1_000, 1 / 300), Draws(0))
    found = most_that_helps(pipeline, lambda allocation: window.solution(pipeline, allocation))
    assert {name: r.share for name, r in found.items()} == {"a": 1.0, "b": 0.7, "c": 0.4}


SHARES = st.sampled_from([(0.4, 0.7, 1.0), (0.5, 1.0), (0.4,), (0.3, 0.6, 0.9)])


@st.composite
def pipelines(draw: st.DrawFn) -> Pipeline:
    """Up to three operators in a row or a fork, with one or two replicas, and requirements on some of the paths."""
    operators = []
    for name in "abc"[: draw(st.integers(1, 3))]:
        shares = draw(SHARES)
        each = st.lists(st.floats(0.1, 10.0), min_size=len(shares), max_size=len(shares)).map(sorted).map(tuple)
        demand_s, scv = draw(st.floats(0.0005, 0.002)), draw(st.sampled_from([0.5, 1.0]))
        price = draw(st.just(1.0) | st.floats(0.1, 10.0) | each)
        operators.append(Operator(name, demand_s, scv, shares, max_replicas=draw(st.integers(1, 2)), price=price))
    names = [operator.name for operator in operators]
    fork = draw(st.booleans())
    edges = [Edge(names[0 if fork else i], names[i + 1]) for i in range(len(names) - 1)]
    paths = Pipeline("random", operators, edges).paths
    requirements = [Requirement(path, draw(st.floats(0.003, 0.2))) for path in paths if draw(st.booleans())]
    return Pipeline("random", operators, edges, requirements)


def every_allocation(pipeline: Pipeline) -> list[Allocation]:
    levels = [
        [Resources(s, k) for s in o.shares for k in range(o.min_replicas, o.max_replicas + 1)]
        for o in pipeline.operators
    ]
    names = [operator.name for operator in pipeline.operators]
    return [Allocation.of(dict(zip(names, choice, strict=True))) for choice in product(*levels)]


@settings(max_examples=40, deadline=None)
@given(pipeline=pipelines(), rate=st.floats(50.0, 900.0))
def test_the_exact_search_finds_what_trying_everything_finds(pipeline: Pipeline, rate: float) -> None:
    predict = predictor(pipeline, rate)
    meeting = [a for a in every_allocation(pipeline) if meets_all(predict(a), pipeline.requirements)]
    found = exact_search(pipeline, predict)
    if meeting:
        assert meets_all(predict(found), pipeline.requirements)
        assert pipeline.cost(found) == pytest.approx(min(pipeline.cost(a) for a in meeting))
        from_above = trim(pipeline, predict)
        assert meets_all(predict(from_above), pipeline.requirements)
        assert pipeline.cost(from_above) >= pipeline.cost(found) - 1e-9
    else:
        assert found == most_that_helps(pipeline, predict)


@settings(max_examples=15, deadline=None)
@given(pipeline=pipelines(), rate=st.floats(50.0, 900.0))
def test_the_heuristic_is_never_cheaper_than_the_exact_search(pipeline: Pipeline, rate: float) -> None:
    predict = predictor(pipeline, rate)
    quick, cheapest = heuristic_search(pipeline, predict), exact_search(pipeline, predict)
    if meets_all(predict(quick), pipeline.requirements):
        assert meets_all(predict(cheapest), pipeline.requirements)
        assert pipeline.cost(cheapest) <= pipeline.cost(quick) + 1e-9
    for found in (quick, cheapest):
        for operator in pipeline.operators:
            assert found[operator.name].share in operator.shares
            assert operator.min_replicas <= found[operator.name].replicas <= operator.max_replicas


def test_the_heuristic_finds_an_overload_that_lies_on_another_way_to_the_path() -> None:
    pipeline = Pipeline(
        "joined",
        [Operator("a", 0.001), Operator("b", 0.002, max_replicas=3), Operator("sink", 0.0005)],
        [Edge("a", "sink"), Edge("b", "sink")],
        [Requirement("a>sink", 0.1)],
    )
    window = WindowReplay(np.full(2_000, 1 / 300), Draws(0))
    chosen = heuristic_search(pipeline, lambda allocation: window.solution(pipeline, allocation))
    assert meets(window.solution(pipeline, chosen), pipeline.requirements[0])
    assert chosen["b"].cores > 300 * 0.002  # all that arrives there reaches the sink
    assert chosen["a"] == pipeline.operator("a").least


def test_a_search_that_would_take_too_long_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mead.policies.predictive.search.MOST_TRIED", 100)
    operators = [Operator(name, 0.001, max_replicas=8) for name in "abcdef"]
    edges = [Edge(a, b) for a, b in pairwise("abcdef")]
    pipeline = Pipeline("long", operators, edges, [Requirement("a>b>c>d>e>f", bound_s=0.006)])

    def predict(allocation: Allocation) -> NetworkSolution:
        mean_s = sum(0.001 / resources.cores**0.01 for resources in allocation.values())
        path = WaitAndService(0.5, 0.0, 0.0, mean_s, 1.0)
        return NetworkSolution(dict.fromkeys("abcdef", path), {"a>b>c>d>e>f": path})

    with pytest.raises(ValueError, match="use search: heuristic"):
        exact_search(pipeline, predict)
