"""Every policy under a load that it would answer with more replicas than the machine has processors for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mead.policies import PolicyOptions, options_class, policy_names
from mead.policies.drs.facts import Room
from mead.policies.drs.policy import DRS, DRSOptions
from mead.queueing import Edge
from mead.session import Session
from mead.session.record import RunRecord
from mead.simulator import Simulation
from mead.values import Allocation, Capacity, CutToFit, Fact, Knowledge, Operator, Pipeline, Requirement, Resources
from mead.workload import Poisson

CHAIN = Pipeline(
    "chain",
    [Operator(name, 0.1, scv=1.0, shares=(0.5, 1.0), max_replicas=4) for name in ("first", "second")],
    [Edge("first", "second")],
    [Requirement("first>second", bound_s=0.5)],
)
PROCESSORS = 3


def made(name: str, **changes: Any) -> PolicyOptions:
    return options_class(name)(**({"interval_s": 5.0} | changes))


def run(name: str, capacity: Capacity | None) -> tuple[RunRecord, set[Fact]]:
    """Fifty tuples per second, which load each operator with five processors."""
    trace = Poisson(rate_per_s=50.0, duration_s=40.0).generate(np.random.default_rng(1))
    changes: dict[str, Any] = {"t_ra_s": 10.0, "window": 1} if name == "drs" else {}
    with Session(CHAIN, made(name, **changes)) as session:
        knowledge = Knowledge(CHAIN, capacity=capacity)
        simulation = Simulation(CHAIN, trace, seed=1, allocation=knowledge.start)
        session.simulate(simulation, knowledge, trace.duration_s)
    facts = {fact for this in session.record.last if this.plan for fact in this.plan.reason.facts}
    return session.record, facts


@pytest.mark.parametrize("name", policy_names())
def test_no_policy_has_more_than_the_machine(name: str) -> None:
    record, facts = run(name, Capacity(PROCESSORS))
    assert max(allocation.cores for _, allocation in record.timeline) <= PROCESSORS
    assert not record.failed
    free, _ = run(name, None)
    if free.last[-1].in_force == CHAIN.most:
        assert any(isinstance(fact, CutToFit | Room) for fact in facts), "the reason says so"


def test_drs_places_the_processors_that_there_are() -> None:
    pipeline = Pipeline("chain", [Operator(o.name, o.demand_s, shares=(1.0,), max_replicas=9) for o in CHAIN.operators])
    goal = DRS(DRSOptions(k_max=9)).goal(pipeline, capacity=Capacity(4))
    assert goal.k_max == 4
    assert DRS(DRSOptions(t_max_s=0.5)).goal(pipeline, capacity=Capacity(4)).k_max == 4
    assert DRS(DRSOptions(k_max=3)).goal(pipeline, capacity=Capacity(4)).k_max == 3


def test_replicas_with_small_shares_fit_side_by_side() -> None:
    small = Pipeline("one", [Operator("matcher", 0.1, shares=(0.4,), max_replicas=9)])
    assert DRS(DRSOptions()).goal(small, capacity=Capacity(2)).k_max == 5
    assert Knowledge(small, capacity=Capacity(2)).start == Allocation.of(matcher=Resources(0.4, 5))
