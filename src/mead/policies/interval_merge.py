"""Consecutive observations merged into one over the whole time, for policies that look less often than the loop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from mead.values import Observation, OperatorReading, PathReading


def merged(observations: Sequence[Observation]) -> Observation:
    """Counts are added up. States, such as a backlog or the last arrivals, are those of the last observation."""
    last = observations[-1]
    return replace(
        last,
        interval_s=sum(one.interval_s for one in observations),
        operators={name: _operator([one.operators[name] for one in observations]) for name in last.operators},
        paths={name: _path([one.paths[name] for one in observations]) for name in last.paths},
    )


def _operator(readings: Sequence[OperatorReading]) -> OperatorReading:
    first, *others = readings
    for other in others:
        first = OperatorReading(
            first.arrived + other.arrived,
            first.completed + other.completed,
            other.backlog,
            first.busy_s + other.busy_s,
            first.batches + other.batches,
            first.serving_s + other.serving_s,
            first.throttled_s + other.throttled_s,
            first.iats + other.iats,
            first.services + other.services,
        )
    return first


def _path(readings: Sequence[PathReading]) -> PathReading:
    beyond: Counter[float] = Counter()
    for reading in readings:
        beyond.update(reading.beyond)
    return PathReading(
        sum(reading.completed for reading in readings),
        sum(reading.response_sum_s for reading in readings),
        sum(reading.late for reading in readings),
        dict(beyond),
    )
