from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mead.queueing import Edge, InvalidNetworkError
from mead.values import Allocation, InvalidPipelineError, Operator, Pipeline, Requirement, Resources

LOG_ANALYSIS = Pipeline(
    "log-analysis",
    [Operator("parser", 0.0001), Operator("counter", 0.0001), Operator("matcher", 0.0015)],
    [Edge("parser", "counter"), Edge("parser", "matcher", 0.5)],
    [Requirement("parser>matcher", bound_s=0.3)],
)


def test_visits_follow_forks_and_filters() -> None:
    assert LOG_ANALYSIS.visits == {"parser": 1.0, "counter": 1.0, "matcher": 0.5}


def test_a_loop_is_found_and_multiplies_the_visits() -> None:
    """One in five comes back: 1 / (1 - 0.2) visits."""
    loop = Pipeline(
        "loop",
        [Operator("generator", 0.001), Operator("detector", 0.001)],
        [Edge("generator", "detector"), Edge("detector", "generator", 0.2)],
    )
    assert loop.returns == (Edge("detector", "generator", 0.2),)
    assert loop.paths == ("generator>detector",)
    assert loop.visits == pytest.approx({"generator": 1.25, "detector": 1.25})


def test_a_loop_that_returns_as_much_as_it_gets_is_refused() -> None:
    with pytest.raises(InvalidPipelineError, match="below 1"):
        Pipeline("runaway", [Operator("a", 0.001)], [Edge("a", "a", 1.0)])


def test_a_requirement_names_a_path_that_exists() -> None:
    with pytest.raises(InvalidPipelineError, match="there is no path matcher; the paths of p are parser"):
        Pipeline("p", [Operator("parser", 0.001)], requirements=[Requirement("matcher", bound_s=1.0)])


def test_a_statistic_of_a_path_has_one_bound() -> None:
    parser, loose = Operator("parser", 0.001), Requirement("parser", bound_s=1.0, percent=95)
    for bound_s in (1.0, 0.5):
        with pytest.raises(InvalidPipelineError, match="two bounds on the p95 of parser; keep the stricter one"):
            Pipeline("p", [parser], requirements=[loose, Requirement("parser", bound_s, percent=95)])
    Pipeline("p", [parser], requirements=[loose, Requirement("parser", 1.0), Requirement("parser", 2.0, percent=99)])


@given(
    shares=st.lists(st.integers(1, 12), min_size=1, max_size=5, unique=True),
    least=st.integers(1, 4),
    more=st.integers(0, 4),
)
def test_levels_are_all_that_an_operator_may_have_in_the_order_of_cost(
    shares: list[int], least: int, more: int
) -> None:
    tenths = tuple(share / 10 for share in sorted(shares))
    operator = Operator("a", 0.001, shares=tenths, min_replicas=least, max_replicas=least + more)
    levels = operator.levels
    assert len(set(levels)) == len(levels) == len(shares) * (more + 1)
    assert (levels[0], levels[-1]) == (operator.least, operator.most)
    for before, after in pairwise(levels):
        assert before.cores <= after.cores + 1e-9
        if before.cores == pytest.approx(after.cores):
            assert before.replicas < after.replicas


def test_an_edge_to_nowhere_is_refused() -> None:
    with pytest.raises(InvalidNetworkError, match="unknown operator"):
        Pipeline("p", [Operator("parser", 0.001)], [Edge("parser", "matcher")])


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"demand_s": 0.0}, "demand_s must be above 0"),
        ({"demand_s": 1.0, "scv": -1.0}, "scv must not be negative"),
        ({"demand_s": 1.0, "shares": ()}, "shares must be above 0 and rise"),
        ({"demand_s": 1.0, "shares": (0.5, 0.4)}, "shares must be above 0 and rise"),
        ({"demand_s": 1.0, "min_replicas": 3, "max_replicas": 2}, "1 <= min <= max"),
    ],
)
def test_operators_that_make_no_sense_are_refused(options: dict[str, float], complaint: str) -> None:
    with pytest.raises(InvalidPipelineError, match=complaint):
        Operator("matcher", **options)  # type: ignore[arg-type]


def test_a_smaller_share_makes_service_longer_in_the_network() -> None:
    allocation = LOG_ANALYSIS.most.with_("matcher", Resources(0.4))
    stations = {o.name: o.service.mean_s for o in LOG_ANALYSIS.network(allocation).operators}
    assert stations["matcher"] == pytest.approx(0.0015 / 0.4)
    assert stations["parser"] == pytest.approx(0.0001)


def test_allocations_with_the_same_resources_are_equal() -> None:
    assert Allocation.of(a=Resources(0.4)) == Allocation.of({"a": Resources(0.4)})
    assert Allocation.of(a=Resources(0.4)) != Allocation.of(a=Resources(0.4, 2))


@pytest.mark.parametrize("options", [{"bound_s": 0.0}, {"bound_s": 1.0, "percent": 100.0}])
def test_requirements_that_make_no_sense_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="requirement on a"):
        Requirement("a", **options)


def test_other_demands_give_the_same_as_a_pipeline_described_so() -> None:
    edges = [Edge("a", "b", 0.5), Edge("b", "a", 0.2), Edge("a", "c")]
    required = [Requirement("a>c", 1.0)]
    pipeline = Pipeline("loop", [Operator(name, 0.1, max_replicas=2) for name in "abc"], edges, required)
    demands_s = {"a": 0.3, "c": 0.7}
    changed = pipeline.with_demands(demands_s)
    described = Pipeline("loop", [Operator(n, demands_s.get(n, 0.1), max_replicas=2) for n in "abc"], edges, required)
    assert changed == described
    assert [o.demand_s for o in pipeline.operators] == [0.1] * 3
    for found in ("paths", "most", "visits", "returns"):
        assert getattr(changed, found) == getattr(described, found)
    assert changed.network(changed.most).paths == described.network(described.most).paths
    share = changed.network(changed.most).operators[0].service.mean_s
    assert share == pytest.approx(0.3)


def test_a_demand_that_cannot_be_is_refused_when_it_is_changed_too() -> None:
    with pytest.raises(InvalidPipelineError, match="demand_s must be above 0"):
        Pipeline("one", [Operator("a", 0.1)]).with_demands({"a": 0.0})


def test_a_loop_that_returns_everything_is_refused_whatever_is_rounded() -> None:
    """The spectral radius of these comes out as 1 - 1e-16, and the traffic equations are singular."""
    back = 1 / (0.7 * 0.2 * 0.9)
    circle = [Edge("a", "c", 0.7), Edge("c", "b", 0.2), Edge("b", "d", back), Edge("d", "a", 0.9)]
    with pytest.raises(InvalidPipelineError, match="return 1 tuples for each that enters"):
        Pipeline("circle", [Operator(name, 0.01) for name in "abcd"], circle)
