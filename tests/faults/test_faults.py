"""Faults on the real engine. Whatever happens, totals are exact in the end, and the allocation has a reason."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from tests.faults.fault_story import FIRST, JUMPS_S, NOTICED, RATE_PER_S, Story, lived_through, reasons
from tests.spark import log_pipeline as logs

from mead.cpu import detect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def story(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Story:
    if detect().kind == "none":
        pytest.skip("no control groups can be made here, by which an operator's workers are known")
    return lived_through(spark, tmp_path_factory.mktemp("faults"))


def test_totals_are_exact_in_the_end(story: Story) -> None:
    assert story.drained
    assert story.lines > FIRST
    assert logs.totals(story.folder) == logs.expected_totals(story.lines)
    assert logs.matches(story.folder) == logs.expected_matches(story.lines)
    assert logs.stream(story.folder, "matcher").counted == logs.expected_counts(story.lines)


def test_what_the_parser_has_written_is_exact_after_every_fault(story: Story) -> None:
    assert len(story.compared) == 7
    assert all(rows == expected for rows, expected in story.compared.values()), story.compared
    written = [rows for rows, _ in story.compared.values()]
    assert written == sorted(written)
    assert 0 < written[0] < written[-1]


@pytest.mark.parametrize("kind", ["worker", "daemon"])
def test_operators_go_on_after_their_processes_were_killed(story: Story, kind: str) -> None:
    assert all(story.after_kill[f"{operator} {kind}"] > 0 for operator in ("parser", "counter", "matcher"))


def test_a_query_that_failed_is_started_again_and_the_reason_recorded(story: Story) -> None:
    assert any(
        restart.startswith("matcher failed and is started again") and "the pattern server is away" in restart
        for restart in story.restarts
    ), story.restarts
    assert all("\n" not in restart for restart in story.restarts)


def test_the_allocation_is_always_one_that_operators_may_have_and_has_a_reason(story: Story) -> None:
    pipeline = logs.pipeline()
    for this in story.every:
        assert this.in_force is not None
        pipeline.check(this.in_force)
        assert this.plan is not None
        assert this.plan.reason.facts
        assert this.error == ""


def test_a_controller_that_died_goes_on_with_what_was_in_force(story: Story) -> None:
    assert story.first_alive is not None
    assert story.first_alive.observation is not None
    assert story.first_alive.observation.allocation == story.before_death
    assert story.first_alive.plan is not None
    assert story.every[-1].time_s > story.first_alive.time_s


@pytest.mark.parametrize("fault", NOTICED)
def test_absurd_readings_change_nothing_and_are_named(story: Story, fault: str) -> None:
    rounds = story.rounds[fault]
    named = [n for n, this in enumerate(rounds) if this.plan and re.match(NOTICED[fault], str(this.plan.reason))]
    assert named
    assert all(rounds[n].in_force == rounds[n - 1].in_force for n in named if n > 0)


@pytest.mark.parametrize("fault", ["CPU time is not measured", "a query is down"])
def test_missing_readings_stop_nothing(story: Story, fault: str) -> None:
    assert story.rounds[fault]
    assert all(this.error == "" and this.observation is not None for this in story.rounds[fault])


def test_a_source_that_stalls_is_no_fault(story: Story) -> None:
    quiet = story.rounds["the source stalls"]
    assert all(this.error == "" and this.observation and not this.observation.missing for this in quiet)
    assert all(reasons(quiet))


@pytest.mark.parametrize("where", JUMPS_S)
def test_a_clock_that_jumps_stops_nothing(story: Story, where: str) -> None:
    rounds = story.rounds[f"the clock jumps {where}"]
    assert rounds
    for this in rounds:
        assert this.error == ""
        assert this.observation is not None
        for reading in this.observation.operators.values():
            assert min(reading.arrived, reading.completed, reading.backlog, reading.busy_s) >= 0
    assert all(reasons(rounds))


def test_what_a_clock_skips_comes_at_once_and_while_it_is_behind_nothing_does(story: Story) -> None:
    done = {
        where: [
            this.observation.operators["parser"].completed
            for this in story.rounds[f"the clock jumps {where}"]
            if this.observation
        ]
        for where in JUMPS_S
    }
    assert max(done["forwards"]) > JUMPS_S["forwards"] * RATE_PER_S, "in one round"
    assert done["backwards"][-3:] == [0, 0, 0]
    assert sum(done["and is right again"]) > 0
