"""Measure the policies in virtual time: the figures of the project's goals.

    benchmarks/bench_policies.py [--seeds 5] [--jobs 2] [--part NAME ...] [--policy NAME ...]

Seven parts. *bellcore*: Tables I and II of the MEAD paper on the Bellcore trace (first 1,800 s, demand 1.5 ms), every
policy and the two clairvoyant bounds. *robust*: `adaptive` with orders that act late, a demand that is declared wrong,
metrics that are late or missing; it has to keep what a static full share keeps. *workloads*: all generated arrivals
with several seeds, and how many of the requirements that a static full share keeps every policy keeps. *caution*: `map`
without planning for the highest rate that a window is compatible with, on Bellcore, seed 1. *later*: `replay` with and
without that, from 1,300 s to 3,100 s of the trace, seed 1. *batches*: `adaptive` beside a static full share on
Bellcore, where every operator works in micro-batches that cost 40 ms each beside their tuples. *fresh*: the same two
under bursts near capacity (SYNT), with seeds that no constant was chosen by.

The trace is looked for in ``../shared/data``; without it, the parts that need it are skipped. `mead` and `map` take
half a minute or more for each run and are left out of *workloads* unless they are named.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.comparison import BOUNDS, Contender, PolicyContender, Result, results
from experiments.mead_paper.report import NOTE, comparison_tables
from experiments.mead_paper.rows import COLUMNS, rows_of
from experiments.mead_paper.tables import EVERYONE, TABLE_1, TABLE_2, Case
from experiments.workloads import Workload, generated, live_maps, recorded, required, synt
from rich.console import Console

from mead.simulator import Conditions, FaultyMetrics
from mead.values import Batches
from mead.workload import read_trace

if TYPE_CHECKING:
    from benchmarks.common import table
else:  # run as a script, whose folder is where its imports come from
    from common import table

BELLCORE = Path(__file__).parents[1] / "../shared/data/bc-paug89.parquet"
LATER_S = (1_300.0, 3_100.0)
"""A part of the trace that is as long as the paper's, and mostly after it."""

BELLCORE_REQUIREMENTS = ("mean=0.3", "mean=0.5", "mean=0.75", "p95=0.5", "p95=1")
REQUIREMENTS = {
    "synt": BELLCORE_REQUIREMENTS,
    "lm": ("mean=1.5", "mean=3", "mean=5", "p95=7", "p95=10"),
}
"""Requirements by workload; the others have mean=0.3 and p95=0.5."""

BATCHES = Batches(overhead_s=0.04)
"""What a micro-batch costs in the fast profile, whatever its size."""

FIRST_FRESH_SEED = 101

PARTS = ("bellcore", "robust", "workloads", "caution", "later", "batches", "fresh")

console = Console(width=130)


def cases_of(workload: Workload, requirements: Sequence[str]) -> list[Case]:
    """A workload under each of the requirements."""
    return [Case(workload, required(text)) for text in requirements]


def bellcore(start_s: float = 0.0, end_s: float = 1_800.0) -> Workload | None:
    """A part of the trace, if it is there; the paper's unless told otherwise."""
    if not BELLCORE.exists():
        console.print(f"skipped: there is no Bellcore trace at {BELLCORE}")
        return None
    return recorded("bc", read_trace(BELLCORE).between(start_s, end_s), end_s - start_s)


def bench_bellcore(policies: Sequence[str], seeds: Sequence[int], jobs: int) -> None:
    """Every policy under the requirements of the paper."""
    workload = bellcore()
    if workload is None:
        return
    contenders: list[Contender] = [*map(PolicyContender.of, policies), *BOUNDS]
    cases = [*TABLE_1.cases([workload]), *TABLE_2.cases([workload])]
    done = list(results(cases, contenders, seeds, jobs))
    for part in comparison_tables(rows_of(done)):
        console.print(part)
        console.print()
    console.print(NOTE, highlight=False)
    gaps = table(
        "Above the 1-s clairvoyant, points of CPU, where the requirement is met", "policy", "met", "mean", "most"
    )
    bounds = {(r.case.requirement, r.seed): r.outcome.cpu for r in done if r.label == BOUNDS[-1].label and r.outcome}
    for policy in policies:
        own = [r for r in done if r.label == policy and r.outcome is not None]
        points = [
            100 * (r.outcome.cpu - bounds[r.case.requirement, r.seed]) for r in own if r.outcome and r.outcome.met
        ]
        figures = (f"{sum(points) / len(points):.2f}", f"{max(points):.2f}") if points else ("-", "-")
        gaps.add_row(policy, f"{len(points)}/{len(own)}", *figures)
    console.print(gaps)


def troubles() -> dict[str, tuple[Conditions | None, FaultyMetrics | None]]:
    """Everything that can be other than planned."""
    return {
        "nothing wrong": (None, None),
        "orders act after 1 s": (Conditions(share_delay_s=1.0), None),
        "orders act after 5 s": (Conditions(share_delay_s=5.0), None),
        "true demand 10 % higher": (Conditions(demand_factors={"matcher": 1.1}), None),
        "true demand 10 % lower": (Conditions(demand_factors={"matcher": 0.9}), None),
        "metrics 5 s late": (None, FaultyMetrics(late_s=5.0)),
        "no metrics for 30 s, three times": (
            None,
            FaultyMetrics(missing=((300.0, 330.0), (900.0, 930.0), (1500.0, 1530.0))),
        ),
    }


def bench_robust(policies: Sequence[str], seeds: Sequence[int], jobs: int) -> None:
    """What is kept when something is wrong, beside what a static full share keeps then."""
    workload = bellcore()
    if workload is None:
        return
    cases = cases_of(workload, BELLCORE_REQUIREMENTS)
    short = [f"{case.requirement.statistic} {case.requirement.bound_s:g}" for case in cases]
    shown = table("Bellcore: response in s at CPU %, ! where missed", "trouble", "policy", "met", *short)
    for trouble, (conditions, metrics) in troubles().items():
        for policy in ("static", *policies):
            contender = replace(PolicyContender.of(policy), conditions=conditions, metrics=metrics)
            done = list(results(cases, [contender], seeds, jobs))
            met = sum(r.outcome is not None and r.outcome.met for r in done)
            cells = [_worst_of([r for r in done if r.case.requirement == case.requirement]) for case in cases]
            shown.add_row(trouble, policy, f"{met}/{len(done)}", *cells)
    console.print(shown)


def bench_some(title: str, workload: Workload | None, policies: Sequence[str], jobs: int) -> None:
    """A few policies beside each other under all Bellcore requirements, with one seed."""
    if workload is None:
        return
    cases = cases_of(workload, BELLCORE_REQUIREMENTS)
    short = [f"{case.requirement.statistic} {case.requirement.bound_s:g}" for case in cases]
    shown = table(f"{title}: response in s at CPU %, ! where missed", "policy", "met", *short)
    for policy in policies:
        done = list(results(cases, [PolicyContender.of(policy)], [1], jobs))
        shown.add_row(policy, _kept(done), *(_worst_of([result]) for result in done))
    console.print(shown)


def bench_rows(title: str, cases: Sequence[Case], policies: Sequence[str], seeds: Sequence[int], jobs: int) -> None:
    """A few policies, with the spread over the seeds."""
    done = results(cases, [*map(PolicyContender.of, policies)], seeds, jobs)
    shown = table(f"{title}; seeds {seeds[0]} to {seeds[-1]}", "requirement", "policy", *COLUMNS[:-1])
    for row in rows_of(done):
        requirement = row.case.requirement
        shown.add_row(f"{requirement.statistic} {requirement.bound_s:g} s", row.label, *row.cells[:-1])
    console.print(shown)


def _worst_of(done: Sequence[Result]) -> str:
    response_s = max(r.verdict.response_s or 0.0 for r in done if r.verdict is not None)
    cpu = sum(r.outcome.cpu for r in done if r.outcome is not None) / len(done)
    late = "!" if response_s > done[0].case.requirement.bound_s else ""
    return f"{response_s:.3f}{late} @{100 * cpu:.1f}"


def bench_workloads(policies: Sequence[str], seeds: Sequence[int], jobs: int) -> None:
    """Count how many of the requirements that a static full share keeps each policy keeps."""
    workloads = [synt(), live_maps(), *generated()]
    cases = [case for w in workloads for case in cases_of(w, REQUIREMENTS.get(w.name, ("mean=0.3", "p95=0.5")))]
    done = {
        policy: list(results(cases, [PolicyContender.of(policy)], seeds, jobs))
        for policy in ("static", *(p for p in policies if p != "static"))
    }
    feasible = [r.outcome is not None and r.outcome.met for r in done["static"]]
    title = f"Requirements kept, of those that static keeps; {len(seeds)} seeds"
    shown = table(title, "policy", "all", "CPU %", "broken %", "changes", *(w.name for w in workloads))
    for policy, own in done.items():
        counted = [r for r, possible in zip(own, feasible, strict=True) if possible]
        per = [[r for r in counted if r.case.workload.name == w.name] for w in workloads]
        outcomes = [r.outcome for r in counted if r.outcome is not None]
        shown.add_row(
            policy,
            _kept(counted),
            f"{100 * sum(o.cpu for o in outcomes) / len(outcomes):.2f}",
            f"{100 * sum(o.verdicts[0].broken_windows or 0.0 for o in outcomes) / len(outcomes):.1f}",
            f"{sum(o.changes for o in outcomes) / len(outcomes):.0f}",
            *map(_kept, per),
        )
    console.print(shown)
    for policy, own in done.items():
        missed = [
            f"{r.case.workload.name} {r.case.requirement.statistic}={r.case.requirement.bound_s:g} seed {r.seed}: "
            f"{r.verdict.response_s:.3f}"
            for r, possible in zip(own, feasible, strict=True)
            if possible and r.verdict is not None and not r.verdict.met
        ]
        if missed and policy.startswith("adaptive"):
            console.print(f"{policy} misses {'; '.join(missed)}", highlight=False)


def _kept(done: Sequence[Result]) -> str:
    return f"{sum(r.outcome is not None and r.outcome.met for r in done)}/{len(done)}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5, help="how many, from 1 on")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--part", choices=PARTS, action="append", help="may be repeated; all of them if none is given")
    parser.add_argument("--policy", action="append", help="in place of all; may be repeated")
    given = parser.parse_args()
    parts, some_seeds = given.part or PARTS, range(1, given.seeds + 1)
    everyone = given.policy or EVERYONE
    if "bellcore" in parts:
        bench_bellcore(everyone, some_seeds, given.jobs)
    if "robust" in parts:
        bench_robust(given.policy or ["adaptive"], some_seeds[:1], given.jobs)
    if "workloads" in parts:
        bench_workloads(given.policy or [p for p in everyone if p not in {"mead", "map"}], some_seeds, given.jobs)
    if "caution" in parts:
        bench_some("Bellcore", bellcore(), given.policy or ["map@cautious=false"], given.jobs)
    if "later" in parts:
        title = "Bellcore from {:,.0f} s to {:,.0f} s".format(*LATER_S)
        bench_some(title, bellcore(*LATER_S), given.policy or ["replay", "replay@cautious=true"], given.jobs)
    beside = given.policy or ["static", "adaptive"]
    if "batches" in parts and (workload := bellcore()):
        cases = cases_of(replace(workload, batches=BATCHES), BELLCORE_REQUIREMENTS)
        title = f"Bellcore, {1000 * BATCHES.overhead_s:g} ms for every micro-batch"
        bench_rows(title, cases, beside, some_seeds, given.jobs)
    if "fresh" in parts:
        fresh = range(FIRST_FRESH_SEED, FIRST_FRESH_SEED + given.seeds)
        bench_rows("SYNT", cases_of(synt(), ["p95=0.5"]), beside, fresh, given.jobs)
