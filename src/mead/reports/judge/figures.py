"""The figures of a whole run that a history keeps, and their verdicts.

Verdicts follow from figures and rounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from mead.reports.frames import Frame
from mead.reports.judge.response_times import CountedTimes
from mead.reports.judge.verdict import Verdict, judge
from mead.values import Requirement

Figures: TypeAlias = dict[str, dict[str, float | None]]
"""Figures by path (empty for the whole run), and by name, such as ``p95_s``."""

ENGINE = "cores of "
"""Prefix of the figures that say how many cores the engine itself used, beside the operators."""

DRAINED = "drained"
"""A figure that is 1 if everything that arrived was processed, and 0 if not."""

PERCENTS = (50.0, 95.0, 99.0)
"""The percentiles of response times in every report."""


def path_figures(paths: Mapping[str, Mapping[str, float | None]], verdicts: Iterable[Verdict]) -> Figures:
    """Response times by path, with the verdicts on the requirements."""
    figures: Figures = {path: dict(named) for path, named in paths.items()}
    for verdict in verdicts:
        requirement = verdict.requirement
        figures[requirement.path][f"{requirement.statistic}_s"] = verdict.response_s
        figures[requirement.path][_broken_windows(requirement)] = verdict.broken_windows
    return figures


def judge_past(
    requirement: Requirement, frames: Sequence[Frame], duration_s: float, figures: Mapping[str, Mapping[str, float]]
) -> Verdict:
    """Judge a run by its history: by figures of every tuple if the run recorded them, otherwise by its rounds."""
    drained, recorded = figures.get("", {}).get(DRAINED), figures.get(requirement.path, {})
    waiting = None if drained is None else drained <= 0
    found = judge(requirement, CountedTimes(frames, duration_s, waiting))
    return replace(
        found,
        response_s=recorded.get(f"{requirement.statistic}_s", found.response_s),
        broken_windows=recorded.get(_broken_windows(requirement), found.broken_windows),
    )


def _broken_windows(requirement: Requirement) -> str:
    return f"broken_windows_{requirement.statistic}"
