"""Measures and streams of the Elastic-PPQ experiments."""

from __future__ import annotations

import numpy as np
import pytest
from experiments.ppq.fig9 import Fig9Run, RateStep, fig9_parts
from experiments.ppq.measures import during_stream, mean, per_second, variation
from experiments.ppq.streams import GAME, STREAMS

from mead.preference.control.degrees import Degrees
from mead.preference.simulator.system import Interval, Setting, simulate
from mead.queueing import scv


def test_the_coefficient_of_variation_is_that_of_windows_per_second() -> None:
    times_s = np.array([0.5, 1.5, 1.6, 1.7, 2.5, 2.6])
    assert per_second(times_s, 3.0).tolist() == [1, 3, 2]
    assert variation(times_s, 3.0) == pytest.approx(1.0 / 2.0)


def test_what_is_not_known_does_not_count() -> None:
    known = Interval(2.5, Degrees(1, 1), 0.5, 3.0, 0.5, 0.1)
    unknown = Interval(5.0, Degrees(1, 1), 0.5, float("nan"), 0.5, 0.1)
    assert mean([known, unknown], lambda one: one.splitting) == 3.0
    assert np.isnan(mean([unknown], lambda one: one.splitting))


def test_only_intervals_with_arrivals_are_looked_at() -> None:
    trace = STREAMS[0].make(12.0, 1)
    outcome = simulate(trace, Setting())
    inside = during_stream(outcome)
    assert len(inside) == int(outcome.stream_s / 2.5)
    assert during_stream(outcome, 2) == inside[2:]


@pytest.mark.parametrize(
    ("name", "rate_per_s"),
    # Table 3 of the paper; the random walk starts at 5,000/s wherever it goes then.
    [("map1k", 30_331), ("map4k", 30_189), ("ss6", 25_582), ("ss7", 26_552), ("game1", 16_923)],
)
def test_streams_have_the_rates_of_table_3(name: str, rate_per_s: float) -> None:
    (stream,) = (one for one in STREAMS if one.name == name)
    rates = [stream.make(10.0, seed).rate_per_s for seed in range(6)]
    assert np.mean(rates) == pytest.approx(rate_per_s, rel=0.15)


def test_the_walk_is_one_like_the_published() -> None:
    counts = np.bincount(STREAMS[0].make(200.0, 1).timestamps_us // 1_000_000)
    assert STREAMS[0].name == "rw"
    assert counts.mean() == pytest.approx(11_816, rel=0.25)
    assert counts.max() / counts.mean() == pytest.approx(4.17, rel=0.25)


def test_no_slot_of_a_heavy_tail_outweighs_the_stream() -> None:
    counts = np.bincount(STREAMS[7].make(60.0, 1).timestamps_us // 1_000_000)
    assert STREAMS[7].name == "ss8"
    assert 2 < counts.max() / counts.mean() < 5  # 3.83 in Table 3


def test_the_stand_in_for_a_game_is_late_as_that_was() -> None:
    trace = GAME.make(120.0, 1)
    assert trace.event_timestamps_us is not None
    delays_s = (trace.timestamps_us - trace.event_timestamps_us) / 1e6
    assert delays_s.mean() == pytest.approx(0.0171, rel=0.1)
    assert 30 < delays_s.max() <= 71.07
    counts = np.bincount(trace.timestamps_us // 1_000_000)[:-1]
    assert counts.max() / counts.mean() == pytest.approx(1.44, abs=0.08)
    assert scv(trace.iats_s) > 0.9


def steps(*usual: int) -> Fig9Run:
    return Fig9Run(1, tuple(RateStep(1.0, (count, count), 1.0, 0.9, 10.0, "") for count in usual))


def test_fig_9_says_how_many_seeds_are_like_the_paper() -> None:
    *_, verdict, _ = fig9_parts([steps(3, 4, 6, 6, 5, 3), steps(3, 4, 6, 6, 6, 6)])
    assert "with 1 of 2 seeds" in str(verdict)


def test_the_shape_of_fig_9() -> None:
    assert steps(3, 4, 6, 6, 5, 3).follows
    assert not steps(3, 4, 6, 6, 6, 6).follows
    assert not steps(5, 4, 6, 6, 5, 3).follows
