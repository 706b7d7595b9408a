"""What is said and drawn of a run, against the tuples themselves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from mead.policies import make_policy
from mead.policies.baselines.threshold import ThresholdOptions
from mead.queueing import MAP, Edge
from mead.reports.runs import SimulatedReport
from mead.reports.runs.run_plot import by_arrival, draw_run, plot_run
from mead.simulator import Responses, SimulatedRun, run
from mead.values import Knowledge, Observation, Operator, Pipeline, Plan, Requirement
from mead.workload import Trace

PIPELINE = Pipeline(
    "fork",
    [Operator("parser", 0.001), Operator("counter", 0.002), Operator("matcher", 0.004)],
    [Edge("parser", "counter"), Edge("parser", "matcher", 0.5)],
    [Requirement("parser>matcher", 0.1), Requirement("parser>matcher", 0.3, percent=99.0)],
)


@pytest.fixture(scope="module")
def trace() -> Trace:
    return Trace.from_iats_s(MAP.two_state(150.0, idc=20.0).sample(9_000, np.random.default_rng(4)))


@pytest.fixture(scope="module")
def done(trace: Trace) -> SimulatedRun:
    return run(PIPELINE, trace, make_policy(ThresholdOptions(interval_s=5.0)), seed=2)


def test_bins_hold_the_tuples_that_arrived_in_them() -> None:
    rng = np.random.default_rng(1)
    arrival_s, response_s = rng.uniform(0.0, 20.0, 300), rng.exponential(1.0, 300)
    arrival_s = arrival_s[(arrival_s < 7) | (arrival_s > 9)]  # two bins stay empty
    responses = Responses(arrival_s, response_s[: arrival_s.size])
    time_s, mean_s, p95_s = by_arrival(responses, 20.0, 1.0)
    assert time_s.tolist() == [float(second) for second in range(20) if second not in (7, 8)]
    for start_s, mean, p95 in zip(time_s, mean_s, p95_s, strict=True):
        inside = responses.response_s[(arrival_s >= start_s) & (arrival_s < start_s + 1)]
        assert mean == pytest.approx(inside.mean())
        assert p95 == pytest.approx(np.percentile(inside, 95))


def test_the_picture_has_a_panel_per_path_that_is_asked_for_and_one_for_the_cores(
    done: SimulatedRun, tmp_path: Path
) -> None:
    panels = draw_run(done).axes
    assert len(panels) == 2
    labels = [text.get_text() for text in panels[0].get_legend().get_texts()]  # type: ignore[union-attr]
    assert labels == ["p95", "mean", "bound of the mean", "bound of the p99"]
    steps = {str(line.get_label()): line for line in panels[1].get_lines()}
    assert list(steps) == ["parser", "counter", "matcher"]
    cores = [allocation["matcher"].cores for allocation in done.simulation.timeline.allocations]
    assert np.asarray(steps["matcher"].get_ydata()).tolist() == [*cores, cores[-1]]
    plot_run(done, tmp_path / "run.svg")
    assert "<svg" in (tmp_path / "run.svg").read_text()


def test_without_requirements_all_paths_are_drawn(trace: Trace) -> None:
    free = Pipeline("fork", PIPELINE.operators, PIPELINE.edges)
    assert len(draw_run(run(free, trace, make_policy(ThresholdOptions()), seed=2)).axes) == 3


def test_tuples_are_neither_lost_nor_made(done: SimulatedRun, trace: Trace) -> None:
    report = SimulatedReport.of(done, seed=2)
    assert (report.tuples, report.lost) == (len(trace), 0)
    assert report.paths["parser>counter"].completed == len(trace)
    assert 0.45 * len(trace) < report.paths["parser>matcher"].completed < 0.55 * len(trace)


def test_every_requirement_of_a_path_is_reported_beside_its_bound(done: SimulatedRun) -> None:
    path = SimulatedReport.of(done, seed=2).as_json()["paths"]["parser>matcher"]
    response_s = done.simulation.responses("parser>matcher").response_s
    assert path["required"] == {"mean_s": 0.1, "p99_s": 0.3}
    assert path["met"] is bool(response_s.mean() <= 0.1 and np.percentile(response_s, 99) <= 0.3)
    assert path["broken_windows"].keys() == path["worst_minute_s"].keys() == {"mean_s", "p99_s"}
    assert path["worst_minute_s"]["mean_s"] >= path["mean_s"]


class Broken:
    """A policy that fails in every round."""

    name, interval_s = "broken", 10.0

    def analyze(self, observation: Observation, knowledge: Knowledge) -> None:
        raise RuntimeError(f"no idea of {knowledge.pipeline.name} at {observation.time_s} s")

    def plan(self, observation: Observation, analysis: None, knowledge: Knowledge) -> Plan:
        raise NotImplementedError


def test_rounds_that_failed_are_counted_and_the_first_is_told(trace: Trace) -> None:
    report = SimulatedReport.of(run(PIPELINE, trace, Broken(), seed=2), seed=2)
    assert report.as_json()["failed_rounds"] == len(report.rounds) > 0
    console = Console(width=80)
    with console.capture() as capture:
        for part in report.tables():
            console.print(part)
    assert "rounds failed and changed nothing; the first, at 10 s, in analyze" in " ".join(capture.get().split())
