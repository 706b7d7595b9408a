"""Measures and streams of the Elastic-PPQ experiments."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from experiments.ppq.fig3 import rows
from experiments.ppq.fig9 import Fig9Run, RateStep, fig9_parts
from experiments.ppq.fig14 import runs as fig14_runs
from experiments.ppq.logs import power_percent
from experiments.ppq.measures import during_stream, mean, per_second, variation
from experiments.ppq.streams import GAME, STREAMS, replayed
from experiments.ppq.tables import PUBLISHED_POWER, row, tables_parts

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


def test_only_bursts_of_poisson_arrivals_vanish_at_a_longer_scale() -> None:
    poisson, markovian, similar = rows(seed=1, duration_s=100.0)
    assert all(value == pytest.approx(1.0, abs=0.4) for value in poisson.dispersion)
    assert markovian.dispersion[0] == pytest.approx(markovian.logged[0], rel=0.3)
    assert markovian.dispersion[1] > 2 * markovian.dispersion[0], "towards its index of 1,000"
    assert min(similar.dispersion) > 50


def test_counts_of_the_authors_can_be_replayed(tmp_path: Path) -> None:
    (tmp_path / "counts.txt").write_text("0 20000\n1 5000\n2 10000\n3 0\n")
    for stream in (GAME, STREAMS[1]):
        again = replayed(stream, tmp_path / "counts.txt")
        assert again.tuples == 35_000
        events_us = again.make(3.0, 1).event_timestamps_us
        assert events_us is not None
        found = np.bincount(events_us // 1_000_000)
        assert found[:2] == pytest.approx([20_000, 5_000], rel=0.1)
        assert len(again.make(1.0, 1)) == pytest.approx(20_000, rel=0.1)


def test_the_published_row_of_game1_is_of_several_runs() -> None:
    parts = tables_parts([row("skyline", GAME, 1, 10.0, static=False)], [GAME])
    (text,) = (part for part in parts if isinstance(part, str) and "of several runs" in part)
    assert "pane workers 3.82 of set-point 0.8, window workers 15.65 of set-point 0.9" in text
    assert "splitting 2.74 of no logged run, variation 0.86 of set-point 0.7" in text


def test_power_follows_the_workers() -> None:
    workers = {"map1k": 4.28 + 41.0, "ss6": 3.05 + 31.5, "game1": 2.15 + 18.5}
    for name, count in workers.items():  # of the logs
        assert power_percent(count) == pytest.approx(PUBLISHED_POWER[name], abs=1.0)


def test_fixed_workers_stay_and_both_runs_have_the_same_stream() -> None:
    both, static = fig14_runs(seed=1, duration_s=20.0)
    assert (static.pane_workers, static.window_workers) == (6, 38)
    assert [one.rate_per_s for one in both.phases] == [one.rate_per_s for one in static.phases]
    assert both.phases[0].rate_per_s == pytest.approx(GAME.published_per_s, rel=0.5)
    assert static.windows_per_s > both.windows_per_s, "a run under control starts with one worker in each stage"
