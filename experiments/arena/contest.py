"""The arena: every policy on every workload, under the same requirements, with the same possibilities.

The pipeline is the log analysis of the MEAD paper. Its matcher may have one to four replicas, each at a share of 0.4 to
1.0, and every policy may use both: whether it does is its own affair. The matcher's demand is such that the arrivals of
every seed keep 1.25 cores busy in the mean. So one replica never is enough, and four are more than three times what it
takes. A demand that is the same for all seeds would not do: bursty arrivals of two seeds differ by half in their rate.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from experiments.clairvoyant import clairvoyant
from experiments.comparison import PolicyContender, each
from experiments.pasps.scenarios import LOG_LIKE, Rates, logs_from
from experiments.workloads import MISSING, Workload, generated, live_maps, recorded, required, synt
from mead.policies import policy_names
from mead.policies.adaptive.knobs import levels
from mead.reports.judge import Outcome
from mead.simulator import Conditions, SimulatedRun, run
from mead.values import Pipeline, Requirement
from mead.workload import SelfSimilar, Steps, Trace

OURS = "hybrid"
"""Our policy: it is meant to be first, and the report says where it is not."""

VARIANTS = ("drs@t_ra_s=60", "pasps@predictor=conformal")
"""Policies with other options than the default. DRS first moves after six minutes, so it is there with one minute too;
PA-SPS plans for the arrivals that it expects, so it is there with an upper quantile of them too."""

REQUIREMENTS = tuple(required(text) for text in ("mean=0.3", "p95=0.5", "p99=1"))

BUSY_CORES, MOST_REPLICAS = 1.25, 4
"""Cores that the matcher keeps busy in the mean, and the most replicas that it may have."""

RATE_PER_S = 330.0
"""The mean rate of workloads of which only the shape is given."""

STEPS = 30


@dataclass(frozen=True, eq=False)
class Contest:
    """A workload, and a matcher with two knobs behind it that it keeps busy."""

    workload: Workload
    """The arrivals; the demand of the workload is not used."""
    busy_cores: float = BUSY_CORES
    most_replicas: int = MOST_REPLICAS

    @property
    def name(self) -> str:
        """The name of the workload."""
        return self.workload.name

    def trace(self, seed: int) -> Trace:
        """The arrivals."""
        return self.workload.trace(seed)

    def pipeline(self, trace: Trace, requirements: Sequence[Requirement]) -> Pipeline:
        """The pipeline under one requirement, or under several, with the demand that these arrivals call for."""
        loaded = replace(self.workload, demand_s=self.busy_cores / trace.rate_per_s)
        plain = loaded.pipeline(requirements[0])
        *light, matcher = plain.operators
        both = replace(matcher, max_replicas=self.most_replicas)
        return Pipeline(plain.name, [*light, both], plain.edges, requirements)

    def relaxed_pipeline(self, trace: Trace, requirement: Requirement) -> Pipeline:
        """The pipeline with one server that has the cores of any pair: no pair of as many cores ever does more work.

        With demands as even as these, that is a bound but for milliseconds. With very variable demands it would be
        none: at one server, all others wait behind a long tuple, and at several they do not.
        """
        described = self.pipeline(trace, [requirement])
        *light, matcher = described.operators
        cores = tuple(round(pair.cores, 9) for pair in levels(matcher))
        one = replace(matcher, shares=cores, max_replicas=1)
        return Pipeline(described.name, [*light, one], described.edges, [requirement])


@dataclass(frozen=True)
class Score:
    """What a policy made of a workload, held against one requirement: a line of the CSV file."""

    workload: str
    requirement: str
    policy: str
    seed: int
    met: bool
    """Over the whole run. Who has lost tuples has met nothing: they were never answered."""
    response_s: float
    bound_s: float
    cores: float
    """Time average of what the matcher was given."""
    replicas: float
    """Time average of its replicas."""
    broken_windows: float
    worst_minute_s: float
    changes_per_h: float
    replica_changes_per_h: float
    lost: int
    own_load: float
    """Cores that the policy itself takes."""


@dataclass(frozen=True, eq=False)
class Bout:
    """One run."""

    contest: Contest
    policy: PolicyContender
    requirements: tuple[Requirement, ...]
    """The requirements by which the run is score. A policy that looks at its requirement sees only one."""
    seed: int
    replicas_delay_s: float = 0.0

    def run(self) -> SimulatedRun:
        """Let it happen."""
        options, trace = self.policy.options, self.contest.trace(self.seed)
        return run(
            self.contest.pipeline(trace, self.requirements),
            trace,
            options,
            seed=self.seed,
            conditions=Conditions(replicas_delay_s=self.replicas_delay_s, restart=options.restart),
        )

    def scores(self) -> list[Score]:
        """Let it happen, and judge it."""
        return list(_scores(self.run(), self))


def _scores(done: SimulatedRun, bout: Bout) -> Iterator[Score]:
    outcome, timeline = Outcome.of(done), done.simulation.timeline
    matcher = done.pipeline.operators[-1].name
    replicas = [allocation[matcher].replicas for allocation in timeline.allocations]
    spans_s = np.diff(np.minimum([*timeline.times_s, done.duration_s], done.duration_s))
    lost, hours = done.simulation.counters.lost, done.duration_s / 3600
    for verdict in outcome.verdicts:
        yield Score(
            workload=bout.contest.name,
            requirement=requirement_text(verdict.requirement),
            policy=bout.policy.label,
            seed=bout.seed,
            met=bool(verdict.met) and not lost,
            response_s=verdict.response_s or 0.0,
            bound_s=verdict.requirement.bound_s,
            cores=timeline.mean_cores(matcher, done.duration_s),
            replicas=float(spans_s @ replicas / spans_s.sum()),
            broken_windows=verdict.broken_windows or 0.0,
            worst_minute_s=verdict.worst_minute_s or 0.0,
            changes_per_h=outcome.changes / hours,
            replica_changes_per_h=sum(a != b for a, b in pairwise(replicas)) / hours,
            lost=lost,
            own_load=outcome.own_load,
        )


def requirement_text(requirement: Requirement) -> str:
    """The requirement as users write it: ``p95=0.5``."""
    return f"{requirement.statistic}={requirement.bound_s:g}"


def contenders() -> list[str]:
    """Every policy with its default options, ours first, then the variants.

    >>> contenders()[0], contenders()[-1]
    ('hybrid', 'pasps@predictor=conformal')
    """
    return [OURS, *(name for name in policy_names() if name != OURS), *VARIANTS]


def bouts(
    contests: Sequence[Contest],
    policies: Sequence[PolicyContender],
    requirements: Sequence[Requirement],
    seeds: Sequence[int],
    replicas_delay_s: float = 0.0,
) -> list[Bout]:
    """What has to be run: one for a policy that does not look at the requirement, one for each otherwise."""
    every = tuple(requirements)
    return [
        Bout(contest, policy, seen, seed, replicas_delay_s)
        for contest in contests
        for policy in policies
        for seen in ([(one,) for one in every] if policy.options.sees_requirements else [every])
        for seed in seeds
    ]


def run_bouts(bouts: Sequence[Bout], jobs: int) -> Iterator[list[Score]]:
    """Every bout, in this order, each as soon as it is there."""
    return each(Bout.scores, bouts, jobs)


@dataclass(frozen=True, eq=False)
class Bound:
    """What no schedule undercuts that keeps a requirement with one seed, however much it knows of the future."""

    contest: Contest
    requirement: Requirement
    seed: int

    def cores(self) -> float | None:
        """Cores of the matcher; None if not even its highest level keeps the requirement."""
        trace = self.contest.trace(self.seed)
        pipeline = self.contest.relaxed_pipeline(trace, self.requirement)
        best = clairvoyant(pipeline, trace, seed=self.seed, interval_s=1.0)
        if best is None:
            return None
        held = sum(operator.least.cores for operator in pipeline.operators[:-1])
        return best.proven_cpu * len(pipeline.operators) - held


@dataclass(frozen=True, eq=False)
class ScaledRates:
    """Poisson arrivals at the rates of a scenario, scaled to the usual mean. A seed draws anew what is generated."""

    rates_per_s: Rates
    seconds: int

    def generate(self, rng: np.random.Generator) -> Trace:
        """The first seconds of it."""
        rates = self.rates_per_s(rng)[: self.seconds]
        return Steps(rates_per_s=tuple((rates * RATE_PER_S / rates.mean()).tolist()), step_s=1.0).generate(rng)


def contests(bellcore: Trace | None, log_rates: Path | None, duration_s: float) -> tuple[list[Contest], str]:
    """All workloads, and what there is to say about one that is missing. Log rates that are not given are generated."""
    others = {workload.name: workload for workload in generated(duration_s)}
    step_s = duration_s / STEPS
    ramp = Steps(rates_per_s=tuple(np.linspace(0.3, 1.7, STEPS) * RATE_PER_S), step_s=step_s)
    scenario = LOG_LIKE if log_rates is None else logs_from(log_rates)
    logs = ScaledRates(scenario.rates_per_s, seconds=max(round(duration_s), 2))
    slots = SelfSimilar(rate_per_s=RATE_PER_S, hurst=0.7, duration_s=duration_s)
    workloads = [
        synt(duration_s),
        *([] if bellcore is None else [recorded("bc", bellcore, duration_s)]),
        live_maps(duration_s),
        Workload("similar", "heavy-tailed counts (self-similar, H 0.7)", 0.0, slots),
        others["walk"],
        Workload("ramp", "ramp, from 0.3 to 1.7 of the mean rate", 0.0, ramp),
        Workload("logs", f"{scenario.title}, scaled to {RATE_PER_S:g}/s", 0.0, logs),
        others["crowd"],
    ]
    missing = "" if bellcore is not None else f"the Bellcore trace is skipped: it {MISSING}"
    return [Contest(workload) for workload in workloads], missing
