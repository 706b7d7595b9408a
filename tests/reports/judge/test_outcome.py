"""What a run is judged by: small runs whose every number can be worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from mead.reports.judge import Outcome, TupleTimes, judge, statistic_s
from mead.simulator import Responses, SimulatedRun, Simulation
from mead.values import Operator, Pipeline, Requirement, Resources, Round
from mead.workload import Trace

MEAN = Requirement("matcher", bound_s=1.0)
P90 = Requirement("matcher", bound_s=1.0, percent=90)


def one_per_second(response_s: list[float]) -> Responses:
    return Responses(np.arange(len(response_s), dtype=float), np.array(response_s))


def broken_windows(responses: Responses, requirement: Requirement, duration_s: float) -> float | None:
    return judge(requirement, TupleTimes({requirement.path: responses}, duration_s)).broken_windows


def finished_run(rounds: list[Round] | None = None) -> SimulatedRun:
    """Ten tuples, one a second, of 0.1 CPU seconds; the share is 1.0, 0.5 from 4 s on, and 0.25 for the last second."""
    pipeline = Pipeline("one", [Operator("matcher", 0.1, scv=0.0)], requirements=[MEAN])
    simulation = Simulation(pipeline, Trace.from_timestamps_s(np.arange(10.0)), seed=1)
    for time_s, share in ((4.0, 0.5), (8.0, 0.25)):
        simulation.advance(time_s)
        simulation.apply(pipeline.most.with_("matcher", Resources(share)))
    simulation.drain()
    return SimulatedRun("by hand", pipeline, 9.0, simulation, rounds or [])


def test_a_run_costs_the_time_average_of_its_shares() -> None:
    outcome = Outcome.of(finished_run())
    assert outcome.cpu == pytest.approx((4 * 1.0 + 4 * 0.5 + 1 * 0.25) / 9)
    assert outcome.changes == 2


def test_response_times_are_those_of_all_tuples() -> None:
    # What arrives at the moment of a change starts before it and is served at both shares.
    outcome = Outcome.of(finished_run())
    assert outcome.verdicts[0].response_s == pytest.approx((4 * 0.1 + 4 * 0.2 + 2 * 0.4) / 10)
    assert outcome.met


def test_the_loop_pays_for_itself_by_phase() -> None:
    rounds = [
        Round(1.0, phase_s={"observe": 0.01, "plan": 0.02}),
        Round(2.0, phase_s={"observe": 0.03}),
        Round(3.0, error="no metrics"),
    ]
    outcome = Outcome.of(finished_run(rounds))
    assert outcome.spent_s == pytest.approx({"observe": 0.04, "plan": 0.02})
    assert outcome.own_load == pytest.approx(0.02 / 9)  # the engine pays for what is observed


def test_windows_of_five_minutes_slide_by_half_a_minute() -> None:
    # 600 s; 100 tuples of 4 s in the middle break every window that holds 75 or more of them.
    responses = one_per_second([0.01] * 250 + [4.0] * 100 + [0.01] * 250)
    starts = range(0, 301, 30)
    held = [min(start + 300, 350) - max(start, 250) for start in starts]
    broken = sum(count * 4.0 + (300 - count) * 0.01 > 300 for count in held)
    assert broken_windows(responses, MEAN, 600.0) == pytest.approx(broken / len(held))
    assert 0 < broken < len(held)


def test_a_tuple_counts_in_the_window_in_which_it_arrived() -> None:
    # It leaves in the second half of the run, and yet the first half is the one it was late in.
    responses = Responses(np.array([100.0, 500.0]), np.array([450.0, 0.1]))
    assert broken_windows(responses, MEAN, 600.0) == pytest.approx(4 / 11)


def test_the_last_minute_counts_although_the_last_arrival_comes_a_moment_before_its_end() -> None:
    responses = one_per_second([0.1] * 1770 + [9.0] * 30)
    broken = broken_windows(responses, MEAN, 1799.0)
    assert broken == 0
    late = one_per_second([0.1] * 1740 + [9.0] * 60)
    assert broken_windows(late, MEAN, 1799.0) == pytest.approx(1 / 51)


def test_a_run_shorter_than_a_window_is_one_window() -> None:
    assert broken_windows(one_per_second([2.0] * 20), MEAN, 19.0) == 1.0
    assert broken_windows(one_per_second([0.5] * 20), MEAN, 19.0) == 0.0


def test_percentiles_are_judged_by_their_own_statistic() -> None:
    responses = one_per_second([0.1] * 91 + [50.0] * 9)
    assert broken_windows(responses, P90, 100.0) == 0.0
    assert broken_windows(responses, MEAN, 100.0) == 1.0
    assert statistic_s(responses.response_s, P90) == pytest.approx(0.1)


def test_nobody_waits_where_nothing_arrives() -> None:
    nothing = Responses(np.empty(0), np.empty(0))
    assert statistic_s(nothing.response_s, MEAN) == 0.0
    assert broken_windows(nothing, MEAN, 600.0) == 0.0
