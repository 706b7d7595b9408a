"""What a history keeps of a whole run when it is over: figures that single rounds do not tell, and their names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol, TypeAlias

from mead.values import Requirement

Figures: TypeAlias = dict[str, dict[str, float | None]]
"""Figures by path (empty for the whole run), and by name, such as ``p95_s``."""

ENGINE = "cores of "
"""How the names of figures begin that tell what the engine itself used, beside the operators."""

DRAINED = "drained"
"""The name of a figure that is 1 if everything that arrived went through, and 0 if not."""

PERCENTS = (50.0, 95.0, 99.0)
"""The percentiles of response times in every report."""


class Judgement(Protocol):
    """One requirement, after a run in virtual time or a live one."""

    @property
    def requirement(self) -> Requirement:
        """What was asked for."""

    @property
    def response_s(self) -> float | None:
        """What was measured."""

    @property
    def broken_windows(self) -> float:
        """The part of the sliding windows that break it."""


def broken_windows(statistic: str) -> str:
    """The name of the part of the sliding windows that break a bound on this statistic."""
    return f"broken_windows_{statistic}"


def concluded(paths: Mapping[str, Mapping[str, float | None]], verdicts: Iterable[Judgement]) -> Figures:
    """Response times by path, and how the requirements were kept."""
    figures: Figures = {path: dict(named) for path, named in paths.items()}
    for verdict in verdicts:
        asked = verdict.requirement
        figures[asked.path][f"{asked.statistic}_s"] = verdict.response_s
        figures[asked.path][broken_windows(asked.statistic)] = verdict.broken_windows
    return figures
