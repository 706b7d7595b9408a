from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from mead.knowledge.allocation import Allocation
from mead.knowledge.pipeline import Operator, Pipeline
from mead.knowledge.requirement import Requirement
from mead.models.map import MAP
from mead.models.network.graph import Edge
from mead.models.network.solve import NetworkSolution, solve_network
from mead.plan.forecast import meets
from mead.plan.search import Predictor, exact, heuristic


def pipeline(bound_s: float, percent: float | None = None) -> Pipeline:
    return Pipeline(
        "log-analysis",
        [Operator("parser", 0.0001), Operator("counter", 0.0001), Operator("matcher", 0.0015)],
        [Edge("parser", "counter"), Edge("parser", "matcher")],
        [Requirement("parser>matcher", bound_s=bound_s, percent=percent)],
    )


def predictor(of: Pipeline, rate_per_s: float, model: str = "mg1") -> Predictor:
    arrivals = MAP.poisson(rate_per_s)

    def predict(allocation: Allocation) -> NetworkSolution:
        return solve_network(of.network(allocation), arrivals, model)

    return predict


def test_both_searches_raise_only_the_operator_that_needs_it() -> None:
    wanted = pipeline(bound_s=0.01)
    for search in (heuristic, exact):
        found = search(wanted, predictor(wanted, 330.0))
        assert {name: r.share for name, r in found.items()} == {"parser": 0.4, "counter": 0.4, "matcher": 0.7}


def test_an_overloaded_operator_is_raised_however_little_a_step_gains() -> None:
    wanted = pipeline(bound_s=0.05)
    assert heuristic(wanted, predictor(wanted, 600.0))["matcher"].share == 1.0


def test_where_nothing_helps_the_exact_search_names_what_comes_closest() -> None:
    wanted = pipeline(bound_s=0.0001)
    assert exact(wanted, predictor(wanted, 330.0))["matcher"].share == 1.0


@settings(max_examples=25, deadline=None)
@given(rate=st.floats(1.0, 640.0), bound=st.floats(0.003, 1.0), percent=st.sampled_from([None, 95.0]))
def test_the_exact_search_is_never_dearer_and_meets_what_the_heuristic_meets(
    rate: float, bound: float, percent: float | None
) -> None:
    wanted = pipeline(bound, percent)
    predict = predictor(wanted, rate)
    quick, cheapest = heuristic(wanted, predict), exact(wanted, predict)
    if meets(predict(quick), wanted.requirements[0]):
        assert meets(predict(cheapest), wanted.requirements[0])
        assert cheapest.cores <= quick.cores + 1e-12
    for found in (quick, cheapest):
        for operator in wanted.operators:
            assert found[operator.name].share in operator.shares
