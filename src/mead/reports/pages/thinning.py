"""Merge rounds, so that a run of any length fits into one page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from math import ceil
from typing import Any

from mead.reports.frames import Frame, OperatorFrame, PathFrame
from mead.values import STEP_S

MOST_FRAMES = 10_000
"""Rounds that are kept one by one, some 40 MB."""

SHORT = 6
"""Significant digits of a number in a page."""


def thin_frames(frames: Sequence[Frame], most: int) -> list[Frame]:
    """Merge neighbours to at most ``most`` rounds: counts are added, levels are averaged.

    >>> thin_frames([], 10)
    []
    """
    together = ceil(len(frames) / most) or 1
    groups = (frames[i : i + together] for i in range(0, len(frames), together))
    return [group[0] if len(group) == 1 else _merge(group) for group in groups]


class CondensedFrames:
    """The rounds of a run of any length: single ones, and half-minutes once there are too many.

    Half-minutes are the steps of the windows in which requirements are judged, so the verdicts are the same.
    """

    def __init__(self) -> None:
        self.frames: list[Frame] = []
        self._most = MOST_FRAMES

    def add(self, frame: Frame) -> None:
        """Add a round, and merge if there are too many."""
        self.frames.append(frame)
        if len(self.frames) > self._most:
            groups = groupby(self.frames, lambda one: ceil(one.time_s / STEP_S))
            merged = [list(group) for _, group in groups]
            self.frames = [group[0] if len(group) == 1 else _merge(group) for group in merged]
            self._most = len(self.frames) + MOST_FRAMES


def frame_columns(frames: Sequence[Frame]) -> dict[str, Any]:
    """The rounds by column, a quarter of the size of rows. ``report.js`` turns them into rows again."""
    rows = [frame.as_json() for frame in frames]
    plain = [key for key in (rows[0] if rows else {}) if key not in {"operators", "paths", "phase_s"}]
    return {
        "time_s": [],
        **{key: [_short(row[key]) for row in rows] for key in plain},
        "operators": _grouped(rows, "operators"),
        "paths": _grouped(rows, "paths"),
    }


def _merge(group: Sequence[Frame]) -> Frame:
    last = group[-1]
    spans_s = [frame.interval_s or 0.0 for frame in group]
    return replace(
        last,
        interval_s=sum(spans_s),
        rate_per_s=_weighted([frame.rate_per_s for frame in group], spans_s),
        cores=_weighted([frame.cores for frame in group], spans_s),
        changed=any(frame.changed for frame in group),
        applied=any(frame.applied and frame.changed for frame in group) or last.applied,
        caution=max(frame.caution for frame in group),
        rounds=sum(frame.rounds for frame in group),
        merged=None,
        operators={
            name: _merge_operators([frame.operators[name] for frame in group], spans_s) for name in last.operators
        },
        paths={name: _merge_paths([frame.paths[name] for frame in group]) for name in last.paths},
    )


def _merge_operators(group: Sequence[OperatorFrame], spans_s: Sequence[float]) -> OperatorFrame:
    return replace(
        group[-1],
        arrived=_sum(one.arrived for one in group),
        rate_per_s=_weighted([one.rate_per_s for one in group], spans_s),
        backlog=max((one.backlog for one in group if one.backlog is not None), default=None),
        busy_s=_sum(one.busy_s for one in group),
        utilization=_weighted([one.utilization for one in group], spans_s),
        throttled_s=_sum(one.throttled_s for one in group),
        throttled=_weighted([one.throttled for one in group], spans_s),
    )


def _merge_paths(group: Sequence[PathFrame]) -> PathFrame:
    completed, sum_s = sum(one.completed for one in group), sum(one.response_sum_s for one in group)
    return replace(
        group[-1],
        completed=completed,
        response_sum_s=sum_s,
        mean_s=sum_s / completed if completed else None,
        p95_s=max((one.p95_s for one in group if one.p95_s is not None), default=None),
        beyond={
            bound_s: sum(one.beyond.get(bound_s, 0) for one in group)
            for bound_s in dict.fromkeys(bound_s for one in group for bound_s in one.beyond)
        },
    )


def _sum(values: Iterable[Any]) -> Any:
    """The sum of the known values; None if there are none."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _weighted(values: Sequence[float | None], weights: Sequence[float]) -> float | None:
    known = [(value, weight) for value, weight in zip(values, weights, strict=True) if value is not None]
    total = sum(weight for _, weight in known)
    if total > 0:
        return sum(value * weight for value, weight in known) / total
    return known[-1][0] if known else None


def _grouped(rows: Sequence[Mapping[str, Any]], key: str) -> dict[str, Any]:
    return {
        name: {field: [_short(row[key][name][field]) for row in rows] for field in rows[0][key][name]}
        for name in (rows[0][key] if rows else ())
    }


def _short(value: Any) -> Any:
    return float(f"{value:.{SHORT}g}") if isinstance(value, float) else value
