"""The lines that a run prints where there is no terminal."""

from __future__ import annotations

import pytest
from tests.web import runs

from mead.cli.runs.display import LINE_EVERY_S, Display
from mead.policies.baselines.static import StaticOptions
from mead.session import Session
from mead.values import Cause, Note, Plan, Reason, Round

MOST = runs.PIPELINE.most


def test_a_reason_is_a_text_whatever_it_holds(capsys: pytest.CaptureFixture[str]) -> None:
    reasons = [
        "Path does not exist: [/tmp/x]",
        "[bold]loud[/bold] [red]",
        "mat\x1b[2Jcher, " + ", ".join(["because"] * 40),
    ]
    display = Display()
    with display.following(Session(runs.PIPELINE, StaticOptions())):
        for turn, reason in enumerate(reasons):
            plan = Plan(MOST, MOST, Reason(Cause.UNSAID, (Note(reason),)))
            display.round(Round(turn * LINE_EVERY_S, plan=plan, in_force=MOST))
        display.warn("no [/such] file")
    lines = capsys.readouterr().err.splitlines()
    shown = [reason.replace("\x1b", "?") for reason in reasons]
    assert lines == [*(f"{10 * i} s: {MOST}: {reason}" for i, reason in enumerate(shown)), "no [/such] file"]


def test_a_line_without_a_decision_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    display = Display()
    with display.following(Session(runs.PIPELINE, StaticOptions())):
        display.round(Round(0.0, in_force=MOST))
        display.round(Round(LINE_EVERY_S, in_force=MOST, error="observe: TimeoutError: no answer"))
    assert capsys.readouterr().err.splitlines() == [
        f"0 s: {MOST}: observed only",
        f"10 s: {MOST}: observe: TimeoutError: no answer",
    ]


def test_of_rounds_that_follow_each_other_a_line_tells_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    display = Display()
    with display.following(Session(runs.PIPELINE, StaticOptions())):
        for second in range(25):
            display.round(Round(float(second), plan=Plan.keep(MOST, "it is enough"), in_force=MOST))
    assert [line.split(":")[0] for line in capsys.readouterr().err.splitlines()] == ["0 s", "10 s", "20 s"]
