"""Generated points: the same tuple for the same number, independent and uniform, with event times of a trace."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy import stats

from mead.preference.spark.points import make_points, point_schema, uniform


def test_attributes_are_uniform_and_independent() -> None:
    values = uniform(np.arange(20_000), 4, seed=3)
    assert values.min() >= 0
    assert values.max() < 1000
    for column in values.T:
        assert stats.kstest(column / 1000, "uniform").pvalue > 0.001
    assert np.abs(np.corrcoef(values.T) - np.eye(4)).max() < 0.03
    assert np.abs(np.corrcoef(values[:-1, 0], values[1:, 0])[0, 1]) < 0.03


def test_other_seeds_are_other_points() -> None:
    seeds = (1, 2, 2**24 - 1, 2**24, 2**24 + 1, 2**63, 2**70)
    points = [uniform(np.arange(1000), 2, seed=seed) for seed in seeds]
    assert np.unique(np.concatenate(points)).size == len(seeds) * 2000


def test_a_task_makes_its_own_part(tmp_path: Path) -> None:
    events_us = np.array([5, 3, 8, 1, 9])
    np.save(tmp_path / "events.npy", events_us)
    make = make_points(attributes=3, seed=1, events=str(tmp_path / "events.npy"))
    whole, part = make(np.arange(5)), make(np.array([3, 4]))
    assert part.to_pylist() == whole.to_pylist()[3:]
    assert whole.column("event_us").to_pylist() == events_us.tolist()
    assert [f"{name} {'bigint' if n == 0 else 'double'}" for n, name in enumerate(whole.schema.names)] == point_schema(
        3
    ).split(", ")
