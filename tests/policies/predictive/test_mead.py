"""MEAD as published: KPC alone, every window, the worst of all models, no margin."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest

from mead.arrays import FloatArray
from mead.policies import make_policy
from mead.policies.predictive.base import Analysis
from mead.policies.predictive.map_network import ArrivalModel
from mead.policies.predictive.mead import MeadOptions
from mead.queueing import NetworkSolution, Unstable, fit_kpc, solve_network
from mead.values import Allocation, Knowledge, Pipeline, Resources

if TYPE_CHECKING:
    from tests.policies.conftest import Describer, Observer

WINDOWS = (6_000, 3_000)


@pytest.fixture(scope="module")
def analysis(log_analysis: Describer, observed: Observer, bursty: FloatArray) -> Analysis[ArrivalModel]:
    pipeline = log_analysis(bound_s=0.3)
    policy = make_policy(MeadOptions(windows=WINDOWS))
    found = policy.analyze(observed(pipeline, iats_s=bursty), Knowledge(pipeline))
    assert isinstance(found, Analysis)
    return found


def test_the_models_are_the_distinct_optima_of_kpc_for_every_window(
    analysis: Analysis[ArrivalModel], bursty: FloatArray
) -> None:
    expected = [fit_kpc(bursty[-size:], best=5, rng=np.random.default_rng(0), whole=True).models for size in WINDOWS]
    assert all(1 < len(models) <= 5 for models in expected)
    found = [model.arrivals for model in analysis.models]
    assert [one.D0.tolist() for one in found] == [one.map.D0.tolist() for models in expected for one in models]
    assert max(one.states for one in found) <= 16


def test_there_is_no_margin_and_no_trust_unless_asked_for(analysis: Analysis[ArrivalModel], bursty: FloatArray) -> None:
    assert analysis.basis.margins == ()
    # The rate jumps within both windows, and yet nothing is left out.
    rates_per_s = {round(model.arrivals.rate_per_s, 6) for model in analysis.models}
    assert rates_per_s == {round(1 / bursty[-size:].mean(), 6) for size in WINDOWS}
    assert not MeadOptions().careful
    assert MeadOptions(careful=True).careful


def test_the_target_is_the_cheapest_allocation_under_the_worst_of_all_models(
    analysis: Analysis[ArrivalModel], log_analysis: Describer, observed: Observer, bursty: FloatArray
) -> None:
    """Against all levels of all operators, each solved under every model by the solver of networks itself."""
    plain = log_analysis(bound_s=0.3)
    few = [replace(plain.operator("parser"), shares=(0.4, 1.0)), replace(plain.operator("counter"), shares=(0.4,))]
    pipeline = Pipeline("few", [*few, plain.operator("matcher")], plain.edges, plain.requirements)
    policy = make_policy(MeadOptions(windows=WINDOWS, search="exact"))
    plan = policy.plan(observed(pipeline, iats_s=bursty), analysis, Knowledge(pipeline))

    def worst_s(allocation: Allocation) -> float:
        solutions = [solve_network(pipeline.network(allocation), model.arrivals) for model in analysis.models]
        return max(_mean_s(solution, "parser>matcher") for solution in solutions)

    names = [operator.name for operator in pipeline.operators]
    levels = [[Resources(share, 1) for share in operator.shares] for operator in pipeline.operators]
    every = [Allocation.of(dict(zip(names, chosen, strict=True))) for chosen in product(*levels)]
    cheapest = min(allocation.cores for allocation in every if worst_s(allocation) <= 0.3)
    assert plan.target.cores == pytest.approx(cheapest)
    predicted_s = plan.predicted["parser>matcher"].mean_s
    assert predicted_s == pytest.approx(worst_s(plan.allocation))


def _mean_s(solution: NetworkSolution, path: str) -> float:
    found = solution.paths[path]
    return float("inf") if isinstance(found, Unstable) else found.mean_s
