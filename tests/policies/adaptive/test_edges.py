"""The adaptive policy where something is out of the ordinary: pauses, replicas, overload, nobody who obeys."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from mead.clock import VirtualClock
from mead.loop import ControlLoop, Mode
from mead.policies.adaptive.policy import Adaptive, AdaptiveOptions
from mead.policies.reasons import OutOfReach
from mead.queueing import Edge
from mead.reports.judge import Outcome
from mead.simulator import Simulation, run
from mead.values import (
    Allocation,
    Knowledge,
    Observation,
    Operator,
    Pipeline,
    Prediction,
    Requirement,
    Resources,
    Round,
)
from mead.workload import KINDS, Trace


def one(demand_s: float, *requirements: Requirement, **given: object) -> Pipeline:
    return Pipeline("one", [Operator("matcher", demand_s, **given)], [], requirements)  # type: ignore[arg-type]


def poisson(rate_per_s: float, duration_s: float) -> Trace:
    return KINDS["poisson"].build(rate_per_s=rate_per_s, duration_s=duration_s).generate(np.random.default_rng(1))


def test_pauses_between_arrivals_do_not_make_it_give_everything() -> None:
    """Thirty seconds of 300/s, thirty of nothing: a load of 0.45 half of the time, and levels from 0.4 up."""
    busy_s = [60 * k + poisson(300.0, 30.0).times_s for k in range(8)]
    trace = Trace.from_timestamps_s(np.concatenate(busy_s), sort=True)
    outcome = Outcome.of(run(one(0.0015, Requirement("matcher", 0.3)), trace, Adaptive(AdaptiveOptions()), seed=1))
    assert outcome.verdicts[0].met
    assert outcome.cpu < 0.55


def test_a_service_that_is_longer_than_the_bound_is_found_out_whatever_the_replicas() -> None:
    pipeline = one(0.5, Requirement("matcher", 0.45), shares=(0.5, 1.0), max_replicas=8)
    last = run(pipeline, poisson(4.0, 120.0), Adaptive(AdaptiveOptions()), seed=1).rounds[-1].plan
    assert last is not None
    assert "no allocation meets mean of matcher <= 0.45 s" in str(last.reason)
    predicted = last.predicted["matcher"].mean_s
    assert predicted == pytest.approx(0.5, rel=0.05)


def test_overload_is_no_number_and_what_comes_closest_is_what_is_ordered() -> None:
    pipeline = Pipeline(
        "tandem",
        [Operator("parser", 0.0001), Operator("matcher", 0.0015)],
        [Edge("parser", "matcher")],
        [Requirement("parser>matcher", 0.5)],
    )
    last = run(pipeline, poisson(1000.0, 60.0), Adaptive(AdaptiveOptions()), seed=1).rounds[-1].plan
    assert last is not None
    assert last.predicted["parser>matcher"] == Prediction(None, None, stable=False)
    assert last.reason.facts[-1] == OutOfReach(last.allocation, pipeline.requirements)
    assert last.allocation["matcher"] == Resources(1.0)
    assert last.allocation["parser"] == Resources(0.4), "more for the parser would be for nothing"


def test_two_percentiles_of_one_path_are_counted_each_by_its_own_bound() -> None:
    """Were the tuples beyond 0.1 s counted against the p99, it would ask for far more than it needs."""
    trace = KINDS["map"].build(rate_per_s=330.0, idc=30.0, duration_s=240.0).generate(np.random.default_rng(2))
    loose = Requirement("matcher", 3.0, 99)
    cpu = [
        Outcome.of(run(one(0.0015, *required), trace, Adaptive(AdaptiveOptions()), seed=1)).cpu
        for required in ([Requirement("matcher", 0.1, 30), loose], [Requirement("matcher", 0.1, 30)])
    ]
    assert cpu[0] < cpu[1] + 0.03


@pytest.mark.parametrize("share", [0.55, 1.0])
def test_advice_that_nobody_takes_is_not_judged_by_what_came_but_its_model_is(share: float) -> None:
    trace = KINDS["map"].build(rate_per_s=330.0, idc=30.0, duration_s=180.0).generate(np.random.default_rng(2))
    pipeline = one(0.0015, Requirement("matcher", 0.5))
    simulation = Simulation(pipeline, trace, 1, allocation=Allocation.of(matcher=Resources(share)))
    adaptive, rounds = Adaptive(AdaptiveOptions()), list[Round]()
    loop = ControlLoop(
        simulation, adaptive, Knowledge(pipeline), VirtualClock(), mode=Mode.ADVISE, record=rounds.append
    )
    loop.run(trace.duration_s)
    # Of what is in force it knows well what should come. What its own rule would have made of it is another matter.
    (ratio,) = adaptive.error.ratios.values()
    assert ratio != 1.0
    assert ratio == pytest.approx(1.0, abs=0.25)
    expected_s = [this.plan.kept_mean_s["matcher"] for this in rounds if this.plan and this.plan.kept_mean_s]
    assert len(expected_s) > 100
    # Queues of less than a tenth of a second, the bin of the counts, are more than it knows of.
    assert 0.4 < (expected_s[-1] or 0.0) / simulation.responses("matcher").response_s.mean() < 1.3
    assert simulation.in_force == Allocation.of(matcher=Resources(share))


def test_who_only_advises_grows_careful_where_the_model_is_wrong() -> None:
    """A few tuples are huge, which looking ahead does not know of any other than by their mean."""
    trace = KINDS["map"].build(rate_per_s=22.0, idc=10.0, duration_s=300.0).generate(np.random.default_rng(1))
    pipeline = Pipeline("one", [Operator("matcher", 0.02, 0.5)], [], [Requirement("matcher", 0.3)])
    unknown = Pipeline("one", [Operator("matcher", 0.02, 8.0)], [], [Requirement("matcher", 0.3)])
    simulation = Simulation(unknown, trace, 1, allocation=Allocation.of(matcher=Resources(0.7)))
    rounds = list[Round]()
    loop = ControlLoop(
        simulation,
        Adaptive(AdaptiveOptions()),
        Knowledge(pipeline),
        VirtualClock(),
        mode=Mode.ADVISE,
        record=rounds.append,
    )
    loop.run(trace.duration_s)
    assert max(this.plan.grounds.caution for this in rounds if this.plan) > 1.2


def test_a_model_is_not_judged_by_what_others_have_set_now_and_then() -> None:
    trace = KINDS["map"].build(rate_per_s=330.0, idc=30.0, duration_s=100.0).generate(np.random.default_rng(2))
    pipeline = one(0.0015, Requirement("matcher", 0.5))
    adaptive = Adaptive(AdaptiveOptions())
    loop = ControlLoop(
        Fickle(Simulation(pipeline, trace, 1)), adaptive, Knowledge(pipeline), VirtualClock(), mode=Mode.ADVISE
    )
    loop.run(trace.duration_s)
    assert set(adaptive.error.ratios.values()) == {1.0}


@dataclass
class Fickle:
    """An engine that somebody else gives now this and now that."""

    engine: Simulation

    def observe(self, time_s: float) -> Observation:
        self.engine.apply(Allocation.of(matcher=Resources(1.0 if time_s % 10 < 5 else 0.7)))
        return self.engine.observe(time_s)

    def apply(self, allocation: Allocation) -> None:
        self.engine.apply(allocation)


def test_rules_that_are_obeyed_are_judged() -> None:
    trace = KINDS["map"].build(rate_per_s=330.0, idc=30.0, duration_s=180.0).generate(np.random.default_rng(2))
    adaptive = Adaptive(AdaptiveOptions())
    run(one(0.0015, Requirement("matcher", 0.5)), trace, adaptive, seed=1)
    assert set(adaptive.error.ratios.values()) != {1.0}


@dataclass
class Forgetful:
    """An engine whose arrivals are forgotten for a while, as when the clock is set back that has stamped them."""

    engine: Simulation

    def observe(self, time_s: float) -> Observation:
        seen = self.engine.observe(time_s)
        return replace(seen, counts=seen.counts[:0]) if 60.0 < time_s < 130.0 else seen

    def apply(self, allocation: Allocation) -> None:
        self.engine.apply(allocation)


def test_arrivals_that_are_forgotten_change_no_rule_and_fail_no_round() -> None:
    pipeline, rounds = one(0.0015, Requirement("matcher", 0.5)), list[Round]()
    engine, policy = Forgetful(Simulation(pipeline, poisson(300.0, 200.0), 1)), Adaptive(AdaptiveOptions())
    ControlLoop(engine, policy, Knowledge(pipeline), VirtualClock(), record=rounds.append).run(199.0)
    assert [this.error for this in rounds if this.error] == []
    assert all(this.plan is not None and this.plan.reason.facts for this in rounds)
    assert rounds[-1].plan is not None
    assert 0.4 < rounds[-1].plan.allocation["matcher"].share < 1.0
