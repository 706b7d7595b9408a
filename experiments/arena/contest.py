"""The contests of the arena: all policies, workloads and requirements under equal conditions.

The pipeline is the log analysis of the MEAD paper. Its matcher may have one to four replicas at shares of 0.4 to 1.0.
The demand of the matcher is chosen for each seed so that its arrivals keep 1.25 cores busy in the mean, because bursty
arrivals of two seeds differ by half in their rate. One replica is never enough; four are three times as many as needed.
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
"""Our own policy. The report says where it is not first."""

VARIANTS = ("drs@t_ra_s=60", "pasps@predictor=conformal")
"""Variants beside the defaults: DRS that first acts after one minute instead of six, and PA-SPS that plans for an upper
quantile of the arrivals instead of the expected ones."""

REQUIREMENTS = tuple(required(text) for text in ("mean=0.3", "p95=0.5", "p99=1"))

BUSY_CORES, MOST_REPLICAS = 1.25, 4
"""Mean cores that the matcher keeps busy, and its maximum number of replicas."""

RATE_PER_S = 330.0
"""Mean rate of workloads that only define a shape."""

STEPS = 30


@dataclass(frozen=True, eq=False)
class Contest:
    """A workload with the pipeline that it drives."""

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
        """The pipeline under these requirements, with the demand for these arrivals."""
        loaded = replace(self.workload, demand_s=self.busy_cores / trace.rate_per_s)
        plain = loaded.pipeline(requirements[0])
        *light, matcher = plain.operators
        both = replace(matcher, max_replicas=self.most_replicas)
        return Pipeline(plain.name, [*light, both], plain.edges, requirements)

    def relaxed_pipeline(self, trace: Trace, requirement: Requirement) -> Pipeline:
        """The pipeline with one fast server in place of replicas: with as many cores, it never does less work.

        With demands of low variation this gives a bound on cores, up to milliseconds of response time. With very
        variable demands it does not, because tuples would wait behind a long one.
        """
        described = self.pipeline(trace, [requirement])
        *light, matcher = described.operators
        cores = tuple(round(pair.cores, 9) for pair in levels(matcher))
        one = replace(matcher, shares=cores, max_replicas=1)
        return Pipeline(described.name, [*light, one], described.edges, [requirement])


@dataclass(frozen=True)
class Score:
    """One run of a policy judged by one requirement: a line of the CSV file."""

    workload: str
    requirement: str
    policy: str
    seed: int
    met: bool
    """Over the whole run. A run that lost tuples meets nothing."""
    response_s: float
    bound_s: float
    cores: float
    """Time average of the cores of the matcher."""
    replicas: float
    """Time average of its replicas."""
    broken_windows: float
    worst_minute_s: float
    changes_per_h: float
    replica_changes_per_h: float
    lost: int
    own_load: float
    """Cores that the policy itself uses."""


@dataclass(frozen=True, eq=False)
class Bout:
    """One run."""

    contest: Contest
    policy: PolicyContender
    requirements: tuple[Requirement, ...]
    """The requirements by which the run is judged; only one for a policy that uses it."""
    seed: int
    replicas_delay_s: float = 0.0

    def run(self) -> SimulatedRun:
        """Simulate it."""
        options, trace = self.policy.options, self.contest.trace(self.seed)
        return run(
            self.contest.pipeline(trace, self.requirements),
            trace,
            options,
            seed=self.seed,
            conditions=Conditions(replicas_delay_s=self.replicas_delay_s, restart=options.restart),
        )

    def scores(self) -> list[Score]:
        """Simulate it, and judge it by each requirement."""
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
    """One run per policy that does not use the requirement; one per requirement for the others."""
    every = tuple(requirements)
    return [
        Bout(contest, policy, seen, seed, replicas_delay_s)
        for contest in contests
        for policy in policies
        for seen in ([(one,) for one in every] if policy.options.sees_requirements else [every])
        for seed in seeds
    ]


def run_bouts(bouts: Sequence[Bout], jobs: int) -> Iterator[list[Score]]:
    """The scores of every bout, in order."""
    return each(Bout.scores, bouts, jobs)


@dataclass(frozen=True, eq=False)
class Bound:
    """The fewest cores of any schedule that meets a requirement with one seed."""

    contest: Contest
    requirement: Requirement
    seed: int

    def cores(self) -> float | None:
        """Cores of the matcher; None if not even its highest level meets the requirement."""
        trace = self.contest.trace(self.seed)
        pipeline = self.contest.relaxed_pipeline(trace, self.requirement)
        best = clairvoyant(pipeline, trace, seed=self.seed, interval_s=1.0)
        if best is None:
            return None
        held = sum(operator.least.cores for operator in pipeline.operators[:-1])
        return best.proven_cpu * len(pipeline.operators) - held


@dataclass(frozen=True, eq=False)
class ScaledRates:
    """Poisson arrivals at the rates of a scenario, scaled to the mean rate of the arena."""

    rates_per_s: Rates
    seconds: int

    def generate(self, rng: np.random.Generator) -> Trace:
        """The first seconds of it."""
        rates = self.rates_per_s(rng)[: self.seconds]
        return Steps(rates_per_s=tuple((rates * RATE_PER_S / rates.mean()).tolist()), step_s=1.0).generate(rng)


def contests(bellcore: Trace | None, log_rates: Path | None, duration_s: float) -> tuple[list[Contest], str]:
    """All workloads, and a note about a missing one. Log rates are generated unless a file is given."""
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
