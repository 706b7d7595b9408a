"""How a live run is judged: like the same run in virtual time."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from tests.reports.live_results import live_result, seen

from mead.queueing import Edge
from mead.reports.judge import DRAINED, ENGINE, SketchedTimes, TupleTimes, Verdict, judge
from mead.reports.runs.live_report import UNDRAINED, LiveReport
from mead.session.result import LiveResult
from mead.simulator import Responses
from mead.values import Operator, Pipeline, Requirement

PATH = "parser>matcher"
MEAN, P90 = Requirement(PATH, 1.0), Requirement(PATH, 1.0, percent=90.0)
PIPELINE = Pipeline("two", [Operator("parser", 0.001), Operator("matcher", 0.001)], [Edge("parser", "matcher")], [MEAN])


def verdict(result: LiveResult, requirement: Requirement) -> Verdict:
    return judge(requirement, SketchedTimes(result))


def broken_windows(result: LiveResult, requirement: Requirement) -> float | None:
    return verdict(result, requirement).broken_windows


def simulated_windows(responses: Responses, requirement: Requirement, duration_s: float) -> float | None:
    return judge(requirement, TupleTimes({PATH: responses}, duration_s)).broken_windows


TUPLES = st.lists(
    # No time near the bound: a sketch knows it to one percent, and between two ranks there is nothing in between.
    st.tuples(st.floats(0.0, 899.0), st.sampled_from([0.05, 0.2, 0.9, 1.2, 5.0, 400.0])),
    min_size=1,
    max_size=60,
)


@given(TUPLES, st.sampled_from([75.0, 299.0, 300.0, 640.0, 900.0]))
def test_broken_windows_are_those_of_the_same_run_in_virtual_time(
    tuples: list[tuple[float, float]], duration_s: float
) -> None:
    tuples = [(arrived_s, took_s) for arrived_s, took_s in tuples if arrived_s < duration_s] or [(0.0, 1.2)]
    responses = Responses(*np.array(tuples).T)
    result = live_result(PIPELINE, duration_s, {PATH: tuples})
    assert broken_windows(result, MEAN) == pytest.approx(simulated_windows(responses, MEAN, duration_s))


def test_percentiles_break_a_window_as_in_virtual_time() -> None:
    tuples = [(float(second), 5.0 if second % 100 < 12 else 0.1) for second in range(300)]
    tuples += [(float(second), 5.0 if second % 100 < 8 else 0.1) for second in range(300, 900)]
    responses = Responses(*np.array(tuples).T)
    broken = broken_windows(live_result(PIPELINE, 900.0, {PATH: tuples}), P90)
    assert broken == pytest.approx(simulated_windows(responses, P90, 900.0))
    assert broken is not None
    assert 0 < broken < 1


def test_a_window_in_which_nothing_arrived_is_kept() -> None:
    rounds = [seen(float(second), PIPELINE) for second in range(1, 901, 10)]
    silent = live_result(PIPELINE, 900.0, {PATH: [(10.0, 0.1)]}, rounds=rounds)
    assert broken_windows(silent, MEAN) == 0.0


def test_a_window_in_which_tuples_wait_and_none_is_ever_done_is_broken() -> None:
    rounds = [seen(float(second), PIPELINE, backlog=50 if second > 300 else 0) for second in range(1, 901, 10)]
    stalled = live_result(PIPELINE, 900.0, {PATH: [(10.0, 0.1)]}, rounds=rounds, drained=False)
    # Of 21 windows only the first holds the tuple that was done, and all others end while tuples wait.
    assert broken_windows(stalled, MEAN) == pytest.approx(20 / 21)


def test_what_waits_elsewhere_does_not_break_a_path() -> None:
    aside = Pipeline(
        "fork", [Operator(name, 0.001) for name in ("parser", "matcher", "counter")],
        [Edge("parser", "matcher"), Edge("parser", "counter")], [MEAN],
    )  # fmt: skip
    this = seen(30.0, aside)
    assert this.observation is not None
    busy = {**this.observation.operators, "counter": seen(30.0, aside, backlog=9).observation.operators["counter"]}  # type: ignore[union-attr]
    object.__setattr__(this.observation, "operators", busy)
    result = live_result(aside, 60.0, {}, rounds=[this])
    assert broken_windows(result, MEAN) == 0.0
    assert broken_windows(result, Requirement("parser>counter", 1.0)) == 1.0


def test_a_run_is_judged_by_requirements_that_it_did_not_know() -> None:
    result = live_result(PIPELINE, 60.0, {PATH: [(float(second), 0.5) for second in range(60)]})
    assert [verdict(result, Requirement(PATH, bound_s)).met for bound_s in (0.4, 0.6)] == [False, True]
    assert verdict(result, Requirement(PATH, 0.4)).broken_windows == 1.0


def test_what_did_not_go_through_leaves_it_open_whether_a_requirement_was_met() -> None:
    """Two of ten thousand were quick. The others may have waited for hours."""
    few = live_result(PIPELINE, 60.0, {PATH: [(1.0, 0.2), (2.0, 0.2)]}, tuples=10_000, drained=False)
    assert verdict(few, MEAN).met is None
    assert LiveReport.of(few).as_json()["paths"][PATH]["met"] is None
    assert verdict(few, Requirement(PATH, 0.1)).met is False, "what went through breaks it"
    assert LiveReport.of(few).figures[""][DRAINED] == 0.0
    nothing = live_result(PIPELINE, 60.0, {}, tuples=10_000, drained=False)
    assert verdict(nothing, MEAN).met is False
    shown = Console(width=80, file=StringIO(), record=True)
    overheads_s = {operator.name: 0.05 for operator in PIPELINE.operators}
    shown.print(*LiveReport.of(replace(few, overheads_s=overheads_s)).tables())
    rows = [line.split() for line in shown.export_text().splitlines()]
    assert any(row[:2] == ["mean", "of"] and "?" in row for row in rows)


def test_throttling_is_in_the_document_and_in_the_table() -> None:
    report = LiveReport.of(live_result(PIPELINE, 60.0, {PATH: [(1.0, 0.5)]}))
    document = report.as_json()
    assert document["operator_throttled"] == {"parser": 0.25, "matcher": 0.25}
    assert document["operator_cpu"] == {"parser": 0.4, "matcher": 0.4}
    assert document["paths"][PATH]["broken_windows"] == {"mean_s": 0.0}


def test_what_was_lost_failed_or_complained_of_is_noted() -> None:
    whole = live_result(PIPELINE, 60.0, {PATH: [(10.0, 0.1)]})
    assert LiveReport.of(whole).notes == []
    restarts = [f"matcher failed and is started again: error {n}" for n in range(9)]
    broken = replace(
        whole, loss="Java has ended", drained=False, restarts=restarts, complaints={"a header is no time": 1200}
    )
    assert LiveReport.of(broken).notes == [
        "Java has ended, before the end of the run.",
        UNDRAINED,
        *restarts[:5],
        "a header is no time (1,200 times)",
    ]


def test_rows_that_an_operator_drops_are_in_the_document_and_in_the_table() -> None:
    result = live_result(PIPELINE, 60.0, {PATH: [(10.0, 0.1)]})
    rows_in, rows_out = {"parser": 30_000, "matcher": 29_707}, {"parser": 29_707, "matcher": 41_000}
    overheads_s = dict.fromkeys(rows_in, 0.05)
    counts = {"matcher": {"slow": 38_000, "refused": 2_900, "timeout": 90, "leak": 10}}
    report = LiveReport.of(replace(result, rows_in=rows_in, rows_out=rows_out, overheads_s=overheads_s, counts=counts))
    document = report.as_json()
    assert (document["rows_in"], document["rows_out"], document["counts"]) == (rows_in, rows_out, counts)
    shown = Console(width=80, file=StringIO(), record=True)
    shown.print(*report.tables())
    rows = [line.split() for line in shown.export_text(clear=False).splitlines()]
    assert ["parser", "30,000", "29,707", "-293"] in rows
    assert ["matcher", "29,707", "41,000", "+11,293"] in rows
    said = " ".join(shown.export_text(clear=False).split())
    assert "matcher has counted 41,000 rows of 4 kinds: slow 38,000, refused 2,900, timeout 90." in said


def test_the_history_says_whose_cores_a_figure_counts() -> None:
    figures = LiveReport.of(live_result(PIPELINE, 60.0, {PATH: [(10.0, 0.1)]})).figures[""]
    assert [name for name in figures if name.startswith(ENGINE)] == [
        "cores of Spark (Java)",
        "cores of driver (Python)",
        "cores of control loop (in driver)",
    ]
