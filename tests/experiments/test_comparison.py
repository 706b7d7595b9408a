"""Policies side by side: the same numbers however they are run, and everything where it belongs."""

from __future__ import annotations

import csv
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from experiments.comparison import PROBABILITIES, BoundContender, Contender, PolicyContender, Result, results
from experiments.mead_paper.report import comparison_tables, markdown, window_conclusions, write_all
from experiments.mead_paper.rows import rows_of
from experiments.mead_paper.tables import EVERYONE, TABLE_1, TABLE_2, TABLE_3, Case, PaperCase
from experiments.workloads import Workload, recorded, required, synt
from rich.console import Console

from mead.arrays import FloatArray
from mead.keys import ConfigError
from mead.policies import make_policy, policy_names
from mead.simulator import demands_s, run
from mead.workload import Bursts, Trace

BURSTY = Bursts(calm_per_s=100.0, burst_per_s=400.0, mean_calm_s=4.0, mean_burst_s=2.0).map


def bursty_workload() -> Workload:
    times_s = np.cumsum(BURSTY.sample(30_000, np.random.default_rng(1)))
    return recorded("mine", Trace.from_timestamps_s(times_s), duration_s=60.0, demand_s=0.0025)


@pytest.fixture(scope="module")
def compared() -> list[Result]:
    cases = [Case(bursty_workload(), required(text)) for text in ("mean=0.5", "p95=2")]
    contenders: list[Contender] = [PolicyContender.of("static"), PolicyContender.of("threshold"), BoundContender(10.0)]
    return list(results(cases, contenders, [1, 2]))


def test_every_contender_meets_every_case_with_every_seed_in_order(compared: list[Result]) -> None:
    seen = [(result.case.requirement.statistic, result.label, result.seed) for result in compared]
    labels = ("static", "threshold", "clairvoyant 10 s")
    assert seen == [(s, label, seed) for s in ("mean", "p95") for label in labels for seed in (1, 2)]


def test_a_result_is_what_the_experiment_gives(compared: list[Result]) -> None:
    workload = bursty_workload()
    contender = PolicyContender.of("threshold")
    alone = run(workload.pipeline(required("mean=0.5")), workload.trace(2), make_policy(contender.options), seed=2)
    response_s = alone.simulation.responses("parser>matcher").response_s
    result = next(r for r in compared if r.label == "threshold" and r.seed == 2)
    assert result.verdict is not None
    assert result.verdict.response_s == pytest.approx(float(response_s.mean()), rel=1e-12)


def test_a_distribution_agrees_with_the_statistic_of_the_verdict(compared: list[Result]) -> None:
    for result in compared:
        assert result.verdict is not None
        assert result.quantiles_s is not None
        assert np.all(np.diff(result.quantiles_s) >= 0)
        if result.case.requirement.percent == 95:
            p95_s = np.interp(0.95, PROBABILITIES, result.quantiles_s)
            assert p95_s == pytest.approx(result.verdict.response_s, rel=0.02)
        else:
            assert np.trapezoid(result.quantiles_s, PROBABILITIES) == pytest.approx(result.verdict.response_s, rel=0.02)


def test_both_paths_of_free_operators_are_those_of_lindleys_recursion() -> None:
    workload = replace(bursty_workload(), free=True, others=0.9)
    case = Case(workload, required("mean=1"))
    outcome = PolicyContender.of("static").result(case, 3).outcome  # a full share for every operator
    assert outcome is not None
    pipeline, trace = workload.pipeline(case.requirement), workload.trace(3)
    arrival_s = np.concatenate([[0.0], np.cumsum(trace.iats_s)])
    parsed_s = finished_s(arrival_s, demands_s(pipeline, "parser", arrival_s.size, seed=3))
    for verdict, name in zip(outcome.verdicts, ("matcher", "counter"), strict=True):
        done_s = finished_s(parsed_s, demands_s(pipeline, name, arrival_s.size, seed=3))
        assert verdict.response_s == pytest.approx(float((done_s - arrival_s).mean()), rel=1e-5)


def finished_s(arrival_s: FloatArray, demand_s: FloatArray) -> FloatArray:
    """When the tuples leave one server that serves them in order."""
    left_s, now_s = [], 0.0
    for arrived_s, takes_s in zip(arrival_s.tolist(), demand_s.tolist(), strict=True):
        now_s = max(now_s, arrived_s) + takes_s
        left_s.append(now_s)
    return np.array(left_s)


def test_processes_change_nothing(compared: list[Result]) -> None:
    cases = [Case(bursty_workload(), required(text)) for text in ("mean=0.5", "p95=2")]
    contenders = [PolicyContender.of("static"), PolicyContender.of("threshold")]
    again = list(results(cases, contenders, [1, 2], jobs=2))
    assert [r.outcome for r in again] == [r.outcome for r in compared if r.proven_cpu is None]


def test_nobody_who_keeps_the_requirement_undercuts_the_bound(compared: list[Result]) -> None:
    for bound in (r for r in compared if r.proven_cpu is not None):
        for other in compared:
            if (other.case.requirement, other.seed) == (bound.case.requirement, bound.seed) and other.outcome:
                assert not other.outcome.met or other.outcome.cpu >= (bound.proven_cpu or 0.0)


def test_a_requirement_that_nobody_can_keep_is_told_as_such() -> None:
    cases = [Case(bursty_workload(), required("mean=0.0001"))]
    rows = rows_of(results(cases, [PolicyContender.of("static"), BoundContender(10.0)], [1]))
    assert rows[0].met == 0
    assert rows[1].cells[0] == "impossible"
    assert rows[1].as_json()["runs"][0]["cpu_percent"] is None


def test_rows_hold_all_seeds_and_what_the_paper_says(compared: list[Result]) -> None:
    rows = rows_of(compared)
    assert [(row.label, len(row.results)) for row in rows[:3]] == [
        ("static", 2),
        ("threshold", 2),
        ("clairvoyant 10 s", 2),
    ]
    bellcore = TABLE_1.cases([recorded("bc", bursty_workload().trace(1))])
    assert [case.published["mg1"] for case in bellcore] == [
        PaperCase(0.906, 46.9),
        PaperCase(2.101, 46.8),
        PaperCase(2.8, 46.9),
    ]


def test_requirements_of_the_user_take_the_place_of_those_of_the_paper() -> None:
    cases = TABLE_1.cases([synt(10.0)], [required("p99=2")])
    assert [(case.requirement.statistic, case.published) for case in cases] == [("p99", {})]
    unknown = TABLE_2.cases([bursty_workload()])
    assert [case.requirement.bound_s for case in unknown] == [0.5, 1.0]


def test_the_conclusion_of_table_3_names_the_windows_that_break_the_requirement(compared: list[Result]) -> None:
    of_paper = {f"mead@windows={size}": PaperCase(seconds, 50.0) for size, seconds in ((25_000, 0.1), (100_000, 0.9))}
    case = Case(bursty_workload(), required("mean=0.5"), of_paper)
    good, bad = (
        next(r.outcome for r in compared if r.label == label and r.case.requirement.percent is None)
        for label in ("static", "threshold")
    )
    assert good is not None
    assert bad is not None
    missed = replace(bad, verdicts=(replace(bad.verdicts[0], response_s=0.6),))
    runs = {"mead@windows=25000": missed, "mead@windows=100000": good, "map@windows=25000": good}
    rows = rows_of([Result(case, label, 1, outcome) for label, outcome in runs.items()])
    assert list(window_conclusions(rows)) == [
        "mine, mead: broken with windows of 25000; in the paper with windows of 100000.",
        "mine, map: broken with no window.",
    ]
    assert list(window_conclusions(rows_of(compared))) == []


def test_policies_of_all_tables_can_be_asked_for() -> None:
    for label in {*EVERYONE, *TABLE_3.policies}:
        assert PolicyContender.of(label).options.name in policy_names()
    assert PolicyContender.of("map@windows=100000").options.windows == (100_000,)  # type: ignore[attr-defined]


@pytest.mark.parametrize("text", ["nobody", "static@share", "static@speed=3", "map@windows=3"])
def test_a_policy_that_does_not_exist_is_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        PolicyContender.of(text)


def test_files_hold_every_run_and_a_plot_for_every_case(compared: list[Result], tmp_path: Path) -> None:
    rows = rows_of(compared)
    written = write_all(tmp_path, "mead-table1", "Table", rows)
    with (tmp_path / "mead-table1.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == len(compared)
    assert {line["requirement"] for line in lines} == {"mean=0.5", "p95=2"}
    first = compared[0].verdict
    assert first is not None
    assert float(lines[0]["response_s"]) == first.response_s
    assert sorted(path.name for path in written if path.suffix == ".png") == [
        "mead-table1-mine-mean-0.5-distribution.png",
        "mead-table1-mine-mean-0.5.png",
        "mead-table1-mine-p95-2-distribution.png",
        "mead-table1-mine-p95-2.png",
    ]
    assert all(path.stat().st_size > 1000 for path in written if path.suffix == ".png")
    page = (tmp_path / "mead-table1.md").read_text()
    assert page == markdown("Table", rows)
    assert page.count("| static |") == 2


def test_tables_fit_into_80_columns(compared: list[Result]) -> None:
    console = Console(width=80, file=StringIO())
    for table in comparison_tables(rows_of(compared)):
        console.print(table)
    text = cast(StringIO, console.file).getvalue()
    assert "threshold" in text
    assert "…" not in text
