"""What every mechanism of the adaptive policy is there for: without it, the scenario beside it comes out otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np

from mead.policies.adaptive.policy import Adaptive, AdaptiveOptions
from mead.reports.judge import Outcome
from mead.simulator import Conditions, run
from mead.values import Operator, Pipeline, Requirement
from mead.workload import KINDS, Trace


def generated(kind: str, seed: int, **keys: float) -> Trace:
    return KINDS[kind].build(**keys).generate(np.random.default_rng(seed))


def outcome(
    trace: Trace, demand_s: float, bound_s: float, percent: float | None = None, scv: float = 0.5, **trouble: Any
) -> Outcome:
    """Of one operator under one requirement."""
    requirement = Requirement("matcher", bound_s, percent)
    pipeline = Pipeline("one", [Operator("matcher", demand_s, scv)], [], [requirement])
    return Outcome.of(run(pipeline, trace, Adaptive(AdaptiveOptions()), seed=1, conditions=Conditions(**trouble)))


def test_the_account_makes_up_for_a_time_in_which_too_much_was_used() -> None:
    """For half a minute the operator is too slow, which no rule could help. What follows has to be better than usual.

    Prices alone would be those of the arrivals, which are what they always were: a mean of 0.43 s.
    """
    slow = {"matcher": [(60.0, 0.45), (90.0, 1.0)]}
    trace = generated("map", 3, rate_per_s=330.0, idc=50.0, duration_s=300.0)
    assert outcome(trace, 0.0015, 0.4, interference=slow).met


def test_predictions_that_are_too_good_are_allowed_for() -> None:
    """Looking ahead knows tuples of mean size only; here a few are huge.

    Taken at its word, 45 % of the windows would be broken.
    """
    trace = generated("map", 1, rate_per_s=22.0, idc=10.0, duration_s=600.0)
    this = outcome(trace, 0.02, 0.3, scv=8.0)
    assert this.met
    assert this.verdicts[0].broken_windows == 0
    assert this.cpu < 0.95


def test_a_rate_such_as_never_seen_does_not_wait_for_the_next_choice_of_prices() -> None:
    """From 100/s to 600/s. By the old prices, a backlog would be left standing until then: a p95 of 0.42 s."""
    quiet, busy = (generated("poisson", seed, rate_per_s=rate, duration_s=100.0) for seed, rate in ((1, 100), (2, 600)))
    times_s = np.concatenate([quiet.times_s, 100 + busy.times_s[busy.times_s < 60]])
    this = outcome(Trace.from_timestamps_s(times_s, sort=True), 0.0015, 0.3, 95)
    assert this.met
    assert this.cpu < 0.7


def test_orders_that_are_under_way_are_not_given_again() -> None:
    """A steady load of half a core, and orders that act after 10 s.

    Were every second decided as if nothing had been ordered, too much and too little would follow each other: 72 % of
    a core for the same response time.
    """
    trace = generated("poisson", 1, rate_per_s=330.0, duration_s=240.0)
    this = outcome(trace, 0.0015, 1.0, share_delay_s=10.0)
    assert this.met
    assert this.cpu < 0.6


def test_a_demand_that_is_higher_than_declared_is_learned() -> None:
    """By the declared demand, a backlog would be taken for shorter than it is: a p95 of 1.02 s."""
    trace = generated("map", 3, rate_per_s=330.0, idc=50.0, duration_s=240.0)
    assert outcome(trace, 0.0015 / 1.3, 0.9, 95, demand_factors={"matcher": 1.3}).met


def test_a_demand_that_is_lower_than_declared_is_learned() -> None:
    """By the declared demand, everything would be needed all the time."""
    trace = generated("map", 3, rate_per_s=330.0, idc=50.0, duration_s=240.0)
    this = outcome(trace, 0.003, 0.3, demand_factors={"matcher": 0.5})
    assert this.met
    assert this.cpu < 0.75
