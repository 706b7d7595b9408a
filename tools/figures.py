"""Draw the pictures of the documentation: ``python tools/figures.py FOLDER``.

The pages compute the same steps with the same arrivals, and print the numbers.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure

from mead.policies import NotReady
from mead.policies.predictive.base import Analysis, Predictive
from mead.policies.predictive.kingman import Kingman, KingmanOptions
from mead.policies.predictive.map import Map, MapOptions
from mead.policies.predictive.map_network import ArrivalModel
from mead.policies.predictive.mg1 import MG1, MG1Options
from mead.policies.predictive.predictions import response_s
from mead.queueing import MAP, PH, Edge, Unstable, idc, map_ph_1
from mead.reports.models.plots import KINGMAN, MODEL, PLAIN, SECONDS, STYLE, TRACE
from mead.reports.models.plots import MG1 as MG1_COLOUR
from mead.simulator import Simulation
from mead.values import Knowledge, Observation, Operator, Pipeline, Plan, Requirement, Resources
from mead.workload import KINDS, Trace

if TYPE_CHECKING:
    from tools.house import house
else:
    from house import house  # beside this script

RATE_PER_S, IDC, SERVICE_S = 330.0, 200.0, 0.0015
PATH, BOUND_S = "parser>matcher", 0.3
BEFORE_S, DECIDED_S, END_S = 120.0, 180.0, 300.0
PIPELINE = Pipeline(
    "log-analysis",
    [Operator("parser", 0.0001), Operator("counter", 0.0001), Operator("matcher", SERVICE_S)],
    [Edge("parser", "counter"), Edge("parser", "matcher")],
    [Requirement(PATH, BOUND_S)],
)
"""The pipeline of examples/log-analysis.yaml."""


@dataclass(frozen=True, eq=False)
class Walk:
    """One decision of the policy ``map``, from the arrivals to its effect."""

    trace: Trace
    seen: Observation
    analysis: Analysis[ArrivalModel]
    plan: Plan
    simulation: Simulation

    @classmethod
    def through(cls) -> Walk:
        """Decide as on the page `a-decision`."""
        trace = KINDS["map"].build(rate_per_s=RATE_PER_S, idc=IDC, duration_s=END_S).generate(np.random.default_rng(1))
        simulation, knowledge, policy = Simulation(PIPELINE, trace, seed=0), Knowledge(PIPELINE), Map(MapOptions())
        simulation.observe(BEFORE_S)
        seen = simulation.observe(DECIDED_S)
        analysis = _analyze(policy, seen)
        plan = policy.plan(seen, analysis, knowledge)
        simulation.apply(plan.allocation)
        simulation.advance(END_S)
        return cls(trace, seen, analysis, plan, simulation)


def bursts() -> Figure:
    """Response time over utilization, for three streams of the same rate."""
    utilizations = np.linspace(0.05, 0.95, 37)
    bursty = MAP.two_state(rate_per_s=RATE_PER_S, idc=IDC)
    streams = (
        ("bursty: index of dispersion 200", "-", TRACE, bursty),
        ("the same gaps, shuffled: SCV 5.5", ":", KINGMAN, MAP.renewal(PH.with_moments(1 / RATE_PER_S, bursty.scv))),
        ("Poisson arrivals", "-.", MG1_COLOUR, MAP.poisson(RATE_PER_S)),
    )
    figure = Figure(figsize=(7.0, 3.4), layout="constrained")
    axes = figure.subplots()
    for label, line, colour, arrivals in streams:
        times_s = [_mean_s(arrivals, utilization) for utilization in utilizations]
        axes.plot(utilizations, times_s, line, color=colour, label=label)
    axes.set(xlabel="utilization", yscale="log", title="Mean response time at 330 tuples/s")
    axes.axvline(RATE_PER_S * SERVICE_S / 0.7, color="#999999", lw=0.8, zorder=0)
    axes.yaxis.set_major_formatter(SECONDS)
    axes.legend()
    return figure


def _mean_s(arrivals: MAP, utilization: float) -> float:
    queue = map_ph_1(arrivals, PH.erlang(2, utilization / RATE_PER_S))
    return float("nan") if isinstance(queue, Unstable) else queue.mean_s


def window(walk: Walk) -> Figure:
    """The window of a decision, and the models fitted to it."""
    figure = Figure(figsize=(9.0, 3.2), layout="constrained")
    counts, dispersion = figure.subplots(1, 2, width_ratios=(1.4, 1.0))
    per_s = np.histogram(walk.trace.times_s, bins=np.arange(0.0, END_S + 1))[0]
    counts.stairs(per_s, np.arange(0.0, END_S + 1), color=TRACE, lw=0.8)
    start_s = DECIDED_S - float(walk.seen.iats_s.sum())
    counts.axvspan(max(start_s, 0.0), DECIDED_S, color="#56B4E933", lw=0, label="window of the decision")
    counts.axvline(DECIDED_S, color=MODEL, lw=1.2, label="decision")
    counts.set(title="Arrivals per second", xlabel="time, s")
    counts.legend(loc="upper left", frameon=True, facecolor="white", edgecolor="none")
    spans_s = np.geomspace(0.01, 10.0, 25)
    dispersion.plot(spans_s, idc(walk.seen.iats_s, spans_s.tolist()), "o", color=TRACE, label="window")
    for model in walk.analysis.models[::-1]:
        first = model is walk.analysis.models[0]
        dispersion.plot(
            spans_s,
            model.arrivals.idc(spans_s.tolist()),
            color=MODEL,
            lw=1.8 if first else 0.5,
            label="fitted MAPs" if first else None,
        )
    dispersion.axhline(1.0, color=MG1_COLOUR, ls="-.", lw=1.2, label="Poisson")
    dispersion.set(title="Index of dispersion for counts", xlabel="interval, s", xscale="log", yscale="log")
    for axis in (dispersion.xaxis, dispersion.yaxis):
        axis.set_major_formatter(PLAIN)
    dispersion.legend()
    return figure


def candidates(walk: Walk) -> Figure:
    """Predictions of each policy for every share of the matcher."""
    figure = Figure(figsize=(7.0, 3.6), layout="constrained")
    axes = figure.subplots()
    shares = PIPELINE.operator("matcher").shares
    others: tuple[tuple[str, Predictive[Any], str, str], ...] = (
        ("Kingman", Kingman(KingmanOptions()), ":", KINGMAN),
        ("M/G/1", MG1(MG1Options()), "-.", MG1_COLOUR),
    )
    each_s = _predicted_s(walk, Map(MapOptions()), walk.analysis)
    for column in each_s.T:
        axes.plot(shares, column, color=MODEL, lw=0.5)
    axes.plot(shares, each_s.max(axis=1), color=MODEL, marker="o", label="worst of the MAPs")
    for label, policy, line, colour in others:
        times_s = _predicted_s(walk, policy, _analyze(policy, walk.seen)).max(axis=1)
        axes.plot(shares, times_s, line, color=colour, marker=".", label=label)
    axes.axhline(BOUND_S, color=TRACE, ls="--", lw=1.0, label=f"required: {BOUND_S:g} s")
    axes.axvline(walk.plan.target["matcher"].share, color="#999999", lw=0.8, zorder=0)
    axes.set(xlabel="share of the matcher, cores", yscale="log", xticks=shares)
    axes.set_title("Predicted mean response time; a line ends where the matcher is overloaded")
    axes.yaxis.set_major_formatter(SECONDS)
    axes.legend()
    return figure


def _analyze(policy: Predictive[Any], seen: Observation) -> Analysis[Any]:
    analysis = policy.analyze(seen, Knowledge(PIPELINE))
    if isinstance(analysis, NotReady):
        raise TypeError(analysis.reason)
    return analysis


def _predicted_s(walk: Walk, policy: Predictive[Any], analysis: Analysis[Any]) -> np.ndarray[Any, Any]:
    """Mean response time by share and model; NaN for overload."""
    rows = []
    for share in PIPELINE.operator("matcher").shares:
        allocation = walk.plan.target.with_("matcher", Resources(share))
        solutions = policy.predict(PIPELINE, allocation, analysis.models)
        times_s = [response_s(solution.paths[PATH]) for solution in solutions]
        rows.append([time_s if isfinite(time_s) else float("nan") for time_s in times_s])
    return np.array(rows)


def effect(walk: Walk) -> Figure:
    """Predicted and observed response time."""
    figure = Figure(figsize=(9.0, 3.8), layout="constrained")
    responses, cores = figure.subplots(2, 1, sharex=True, height_ratios=(2.0, 1.0))
    found = walk.simulation.responses(PATH)
    edges = np.arange(0.0, END_S + 1)
    place = np.digitize(found.arrival_s, edges) - 1
    count = np.bincount(place, minlength=edges.size)[: edges.size - 1]
    total_s = np.bincount(place, found.response_s, minlength=edges.size)[: edges.size - 1]
    responses.plot(edges[:-1], total_s / np.maximum(count, 1), color=TRACE, lw=0.9, label="mean of a second's arrivals")
    responses.axhline(BOUND_S, color=MG1_COLOUR, ls="--", lw=1.0, label=f"required: {BOUND_S:g} s in the mean")
    predicted = walk.plan.predicted[PATH].mean_s
    if predicted is not None:
        responses.plot([DECIDED_S, END_S], [predicted] * 2, color=MODEL, lw=1.8, label="predicted")
    responses.set_title("Response time on parser>matcher, s")
    responses.legend(loc="upper left")
    shares = (PIPELINE.most["matcher"].share, walk.plan.allocation["matcher"].share)
    cores.stairs(shares, (0.0, DECIDED_S, END_S), baseline=None, color=MODEL, lw=1.5)
    cores.set(title="CPU cores of each operator", xlabel="time, s", ylim=(0.0, 1.1))
    for axes in (responses, cores):
        axes.axvline(DECIDED_S, color="#999999", lw=0.8, zorder=0)
    return figure


def main(folder: Path) -> None:
    """Draw all pictures into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    # Text stays text, and nothing in the files depends on when they were made.
    with rc_context(STYLE | {"svg.fonttype": "none", "svg.hashsalt": "mead"}):
        walk = Walk.through()
        figures = {
            "burstiness": bursts(),
            "decision-window": window(walk),
            "decision-candidates": candidates(walk),
            "decision-effect": effect(walk),
        }
        for name, figure in figures.items():
            figure.savefig(folder / f"{name}.svg", metadata={"Date": None}, facecolor="white")
            print(folder / f"{name}.svg")
    (folder / "architecture.svg").write_text(house())
    print(folder / "architecture.svg")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
