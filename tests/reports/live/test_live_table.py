"""What the table of a run under way shows."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rich.console import Console
from tests.web import runs

from mead.reports.frames import Kind
from mead.reports.live import Snapshot, Standing, snapshot_table


@pytest.fixture
def look() -> Snapshot:
    return Snapshot.of(runs.board(runs.simulated().rounds))


def shown(look: Snapshot, width: int = 100) -> str:
    console = Console(width=width, no_color=True)
    with console.capture() as captured:
        console.print(snapshot_table(look))
    return captured.get()


def cells(text: str, first: str) -> list[str]:
    return next(line.split() for line in text.splitlines() if line.startswith(first))


def test_operators_have_the_numbers_of_the_last_round(look: Snapshot) -> None:
    last = look.last
    assert last is not None
    for name, operator in last.operators.items():
        assert operator.busy_s is not None
        assert operator.rate_per_s is not None
        row = cells(shown(look), name)
        assert row[-4:-2] == [f"{operator.busy_s / 10.0:.2f}", f"{operator.rate_per_s:,.0f}"]


def test_what_is_planned_and_not_in_force_stands_beside_it(look: Snapshot) -> None:
    last = look.last
    assert last is not None
    matcher = replace(last.operators["matcher"], share=0.4, planned_share=0.7)
    changed = replace(last, operators={**last.operators, "matcher": matcher})
    assert cells(shown(replace(look, frames=(changed,))), "matcher")[1:4] == ["0.4", "->", "0.7"]


def test_a_broken_requirement_is_said_without_colours(look: Snapshot) -> None:
    broken = tuple(replace(standing, broken=standing.statistic == "mean") for standing in look.requirements)
    text = shown(replace(look, requirements=broken))
    assert "mean 0.3 BROKEN" in text
    assert "p95 0.002 BROKEN" not in text


def test_a_round_that_failed_says_so(look: Snapshot) -> None:
    last = look.last
    assert last is not None
    failed = replace(last, error="plan: ValueError: no such thing", kind=Kind.FAILED)
    assert "this round failed in plan: ValueError: no such thing" in shown(replace(look, frames=(failed,)))


def test_before_the_first_round_there_is_a_line(look: Snapshot) -> None:
    assert shown(replace(look, frames=())).startswith("log-analysis under mg1, act: no round yet")


def test_readings_that_are_missing_leave_dashes(look: Snapshot) -> None:
    last = look.last
    assert last is not None
    blind = replace(
        last,
        interval_s=None,
        operators={
            name: replace(one, busy_s=None, rate_per_s=None, backlog=None, throttled=None)
            for name, one in last.operators.items()
        },
    )
    assert cells(shown(replace(look, frames=(blind,))), "matcher")[-4:] == ["-"] * 4


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_names_and_reasons_from_elsewhere_cannot_steer_the_terminal(look: Snapshot, width: int) -> None:
    last = look.last
    assert last is not None
    evil = "\x1b]0;gone\x07\x1b[2J[bold]x[/nothing]\r\n"
    hostile = replace(
        look,
        pipeline=evil,
        policy=evil,
        operators=(evil,),
        frames=(replace(last, reason=evil, operators={evil: last.operators["matcher"]}),),
        paths={evil: next(iter(look.paths.values()))},
        requirements=(Standing(evil, evil, 0.3, 1.5, broken=True),),
    )
    text = shown(hostile, width)
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "bold" in text, "a name is text, and no markup"
