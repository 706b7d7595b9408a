"""Measure the CPU time of a fit, a prediction, a control round, and of a policy beside the pipeline.

CPU seconds of one core. The paper reports 12-20 s for the fit of one MAP, 0.2 s for a prediction of the mean, 2.5 s for
one of a percentile, and 25-40 s for a round, on its own machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

from rich.table import Table

from experiments.comparison import PolicyContender
from experiments.mead_paper.tables import Case
from experiments.workloads import PATH, Workload, required
from mead.policies import make_policy
from mead.queueing import DEFAULT_WINDOWS, MAP, Fitter, Unstable, distinct, fit_windows, solve_network
from mead.reports.tables import plain_table
from mead.simulator import Simulation
from mead.values import Knowledge, Observation, Pipeline

OBSERVED_S = 300.0
"""Length of the trace before the timed round."""

REPEATS = 3
"""Repetitions of each step; the median is reported."""

MEAN, P95 = "mean=0.3", "p95=0.5"

FITTERS: dict[str, Fitter] = {"mead": "kpc", "map": "calibrated"}
"""The fitter of each policy that plans by MAPs."""


@dataclass(frozen=True)
class Cost:
    """CPU time of one step of a round."""

    name: str
    seconds: float
    paper: str = ""


@dataclass(frozen=True)
class LoopCost:
    """A policy beside a pipeline."""

    policy: str
    requirement: str
    rounds: int
    seconds_per_round: float
    load_percent: float
    """In percent of one core, as long as the pipeline runs."""


@dataclass(frozen=True)
class Costs:
    """All of it, on one workload."""

    trace: str
    steps: tuple[Cost, ...]
    loops: tuple[LoopCost, ...]

    def as_json(self) -> dict[str, Any]:
        """The document of the experiment."""
        return {"trace": self.trace, "steps": list(map(asdict, self.steps)), "loops": list(map(asdict, self.loops))}


def steps_of(workload: Workload, *, seed: int, clock: Callable[[], float]) -> Iterator[Cost]:
    """The steps of a round of ``mead`` and ``map``, one after the other; ``clock`` gives CPU seconds."""
    pipeline = workload.pipeline(required(MEAN))
    trace = workload.trace(seed)
    seen = Simulation(pipeline, trace, seed).observe(min(OBSERVED_S, trace.duration_s))
    for (policy, fitter), size in product(FITTERS.items(), distinct(DEFAULT_WINDOWS, seen.iats_s.size)):
        spent_s = _timed(partial(fit_windows, seen.iats_s, [size], fitter=fitter, best=5), clock)
        name = f"fit of {policy} to the last {min(size, seen.iats_s.size):,} IATs, best 5 MAPs"
        yield Cost(name, spent_s, "12-20 s for one MAP")
    model = fit_windows(seen.iats_s, [DEFAULT_WINDOWS[0]], best=1)[0].models[0].map
    yield Cost("prediction of the mean, one MAP", _timed(lambda: _solve(pipeline, model, None), clock), "0.2 s")
    yield Cost("prediction of the p95, one MAP", _timed(lambda: _solve(pipeline, model, 95.0), clock), "2.5 s")
    for policy, text in product(FITTERS, (MEAN, P95)):
        spent_s = _timed(partial(_round, policy, workload.pipeline(required(text)), seen), clock)
        yield Cost(f"round of {policy}, {text}", spent_s, "25-40 s")


def loop_cost(workload: Workload, policy: str, requirement: str, *, seed: int) -> LoopCost:
    """Simulate a policy and measure its CPU time."""
    result = PolicyContender.of(policy).result(Case(workload, required(requirement)), seed)
    outcome = result.outcome
    if outcome is None:
        raise RuntimeError(f"policy {policy} has left no outcome")
    spent_s = outcome.own_load * outcome.duration_s
    rounds = max(1, int(outcome.duration_s / make_policy(PolicyContender.of(policy).options).interval_s))
    return LoopCost(policy, requirement, rounds, spent_s / rounds, 100 * outcome.own_load)


def _round(name: str, pipeline: Pipeline, seen: Observation) -> None:
    policy, knowledge = make_policy(PolicyContender.of(name).options), Knowledge(pipeline)
    policy.plan(seen, policy.analyze(seen, knowledge), knowledge)


def _solve(pipeline: Pipeline, model: MAP, percent: float | None) -> float:
    """Time a solution at full share, which no trace of the paper overloads for long."""
    response = solve_network(pipeline.network(pipeline.most), model).paths[PATH]
    if isinstance(response, Unstable):
        return response.utilization
    return response.mean_s if percent is None else response.percentile_s(percent)


def _timed(work: Callable[[], object], clock: Callable[[], float]) -> float:
    spent_s = []
    for _ in range(REPEATS):
        start_s = clock()
        work()
        spent_s.append(clock() - start_s)
    return median(spent_s)


def cost_tables(costs: Costs) -> Iterator[Table]:
    """The steps beside the paper's, and the loops."""
    steps = plain_table(f"One step on {costs.trace}, CPU time", "step", "here", "paper")
    for step in costs.steps:
        steps.add_row(step.name, _shown(step.seconds), step.paper)
    yield steps
    loops = plain_table("Policies beside the pipeline", "policy", "requirement", "rounds", "per round", "of one core")
    for loop in costs.loops:
        load = f"{loop.load_percent:.3f} %"
        loops.add_row(loop.policy, loop.requirement, str(loop.rounds), _shown(loop.seconds_per_round), load)
    yield loops


def _shown(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{1000 * seconds:.3g} ms"


def write_costs(folder: Path, all_costs: Sequence[Costs]) -> list[Path]:
    """CSV and Markdown."""
    table, page = folder / "mead-cost.csv", folder / "mead-cost.md"
    lines = [("trace", "what", "seconds", "paper")]
    for costs in all_costs:
        lines += [(costs.trace, step.name, f"{step.seconds:.6f}", step.paper) for step in costs.steps]
        lines += [
            (costs.trace, f"{loop.policy} {loop.requirement}: per round", f"{loop.seconds_per_round:.6f}", "")
            for loop in costs.loops
        ]
    quoted = [",".join(f'"{cell}"' if "," in cell else cell for cell in line) for line in lines]
    table.write_text("\n".join(quoted) + "\n")
    rows = [f"| {' | '.join(line)} |" for line in (lines[0], ("---",) * 4, *lines[1:])]
    page.write_text("# CPU time of decisions\n\n" + "\n".join(rows) + "\n")
    return [table, page]
