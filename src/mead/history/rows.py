"""The rows of a round."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isfinite
from typing import TypeAlias

import numpy as np

from mead.values import COUNT_BIN_S, Allocation, Observation, OperatorReading, PathReading, Pipeline, Round

Value: TypeAlias = float | int | str | None
Row: TypeAlias = tuple[Value, ...]

PHASES = ("observe", "analyze", "plan", "execute")


def operator_rows(this: Round, pipeline: Pipeline, before: Allocation | None) -> Iterator[Row]:
    """For each operator: place, name, readings, resources as read, before, after, planned and wanted.

    Throttled time, demand and overhead come last, because their columns were added later.
    """
    seen = this.observation
    plan = this.plan
    for place, operator in enumerate(pipeline.operators):
        reading = None if seen is None else seen.operators.get(operator.name)
        yield (
            place,
            operator.name,
            *_readings(reading),
            *_resources(None if seen is None else seen.allocation, operator.name),
            *_resources(before, operator.name),
            *_resources(this.in_force, operator.name),
            *_resources(None if plan is None else plan.allocation, operator.name),
            *_resources(None if plan is None else plan.target, operator.name),
            None if reading is None else number(reading.throttled_s),
            number(this.demands_s.get(operator.name)),
            number(this.overheads_s.get(operator.name)),
        )


def path_rows(this: Round, pipeline: Pipeline, expected_s: Mapping[str, float], *, advised: bool) -> Iterator[Row]:
    """For each path: place, name, readings, the prediction for the plan, and that for the allocation in force.

    ``expected_s`` was predicted for the time of the readings. Both are added up, to be compared later.
    """
    for place, name in enumerate(pipeline.paths):
        reading = None if this.observation is None else this.observation.paths.get(name)
        predicted = None if this.plan is None else this.plan.predicted.get(name)
        yield (
            place,
            name,
            None if reading is None else _count(reading.completed),
            None if reading is None else number(reading.response_sum_s),
            None if reading is None else _count(reading.late),
            None if predicted is None else number(predicted.mean_s),
            None if predicted is None else number(predicted.p95_s),
            None if predicted is None else int(predicted.stable),
            number(this.expected_mean_s(name, advised=advised)),
            *_checked(reading, expected_s.get(name)),
        )


def rate_per_s(observation: Observation) -> float | None:
    """Arrival rate at the source over the interval of the observation, or over the part of it that was counted."""
    if not observation.interval_s > 0:
        return None
    bins = round(min(observation.counts.size, observation.interval_s / COUNT_BIN_S))
    with np.errstate(all="ignore"):  # implausible counts are written, too
        return number(observation.counts[-bins:].sum() / (bins * COUNT_BIN_S)) if bins else None


def number(value: float | None) -> float | None:
    """The value as a plain float, or None: a history holds no NaN and no infinity."""
    return float(value) if value is not None and isfinite(value) else None


def text(value: str) -> str:
    """The text, with question marks for characters that UTF-8 cannot hold."""
    return value.encode(errors="replace").decode()


def _readings(reading: OperatorReading | None) -> Row:
    if reading is None:
        return (None,) * 4
    return _count(reading.arrived), _count(reading.completed), _count(reading.backlog), number(reading.busy_s)


def _checked(reading: PathReading | None, expected_s: float | None) -> Row:
    if reading is None or expected_s is None or not reading.completed > 0:
        return None, None
    seen_s, predicted_s = number(reading.response_sum_s), number(expected_s * reading.completed)
    return (None, None) if seen_s is None or predicted_s is None else (seen_s, predicted_s)


def _count(value: float) -> int | None:
    """The value as a plain integer; None if it is too large to store.

    SQLite would store an integer of NumPy as a blob.
    """
    return int(value) if isfinite(value) and abs(value) < 2**63 else None


def _resources(allocation: Allocation | None, name: str) -> tuple[float | None, int | None]:
    resources = None if allocation is None else allocation.get(name)
    return (None, None) if resources is None else (number(resources.share), _count(resources.replicas))
