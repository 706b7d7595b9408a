"""A comparison of several runs as one HTML file: their figures side by side, and charts on one time axis."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import chain
from math import ceil
from typing import Any

import numpy as np

from mead.arrays import FloatArray
from mead.reports.frames import Frame
from mead.reports.pages.report_page import VERDICT_COLUMNS, met_cell, summary, verdict_cells
from mead.reports.pages.run_figures import RunFigures
from mead.reports.pages.standalone import html_table, standalone_page
from mead.reports.tables import NOTHING

MOST_BINS = 600
LEAST_BIN_S = 5.0
"""The shortest bin of the time axis. Rounds of different runs are not at the same times."""


def render_comparison(runs: Sequence[RunFigures], names: Sequence[str]) -> str:
    """The whole page; the names differ."""
    parts = [
        html_table("Runs", ["run", *COLUMNS], [[name, *_cells(run)] for name, run in zip(names, runs, strict=True)]),
        *_requirement_tables(runs, names),
        '<section id="compared"></section>',
        *(f"<p>{escape(f'{name}: {summary(run)}')}</p>" for name, run in zip(names, runs, strict=True)),
    ]
    return standalone_page(f"{len(runs)} runs compared", ", ".join(names), parts, numbers(runs, names), "compare.js")


COLUMNS = ("policy", "mode", "met", "cores", "of all", "changes", "failed rounds", "model error", "surprises")


def _cells(figures: RunFigures) -> list[str]:
    paths = figures.required_paths
    errors = [figures.paths[path].model_error for path in paths]
    return [
        figures.run.policy,
        figures.run.mode,
        met_cell(met=figures.met),
        f"{figures.cores:.3f}",
        f"{figures.cores / figures.most_cores:.0%}",
        f"{figures.run.changes:,}",
        f"{figures.run.errors:,}",
        ", ".join(f"{error:+.0%}" for error in errors if error is not None) or NOTHING,
        f"{sum(figures.paths[path].surprises for path in paths)}",
    ]


def _requirement_tables(runs: Sequence[RunFigures], names: Sequence[str]) -> list[str]:
    """A table for each requirement, with all runs that have it."""
    bounds = dict.fromkeys(one.requirement for one in chain.from_iterable(run.verdicts for run in runs))
    tables = []
    for bound in bounds:
        rows = [
            [name, *verdict_cells(one)]
            for name, run in zip(names, runs, strict=True)
            for one in run.verdicts
            if one.requirement == bound
        ]
        tables.append(html_table(str(bound), ["run", *VERDICT_COLUMNS], rows))
    return tables


def numbers(runs: Sequence[RunFigures], names: Sequence[str]) -> dict[str, Any]:
    """The data of the charts, and the figures of all runs."""
    longest_s = max(run.run.duration_s for run in runs)
    bin_s = max(LEAST_BIN_S, longest_s / MOST_BINS)
    bins = max(1, ceil(longest_s / bin_s - 1e-9))
    bounds = dict.fromkeys(one.requirement for one in chain.from_iterable(run.verdicts for run in runs))
    return {
        "time_s": [round((i + 1) * bin_s, 3) for i in range(bins)],
        "bounds": [
            {"path": r.path, "name": f"required: {r.statistic} ≤ {r.bound_s:g} s", "bound_s": r.bound_s} for r in bounds
        ],
        "runs": [
            {"name": name, **_course(run, bin_s, bins), "figures": run.as_json()}
            for name, run in zip(names, runs, strict=True)
        ],
    }


def _course(figures: RunFigures, bin_s: float, bins: int) -> dict[str, Any]:
    """Means by bin of the time axis; None for a bin without values."""
    frames = figures.frames
    places = np.array([min(int(frame.time_s / bin_s - 1e-9), bins - 1) for frame in frames], dtype=np.int64)

    def by_bin(weights: FloatArray, values: FloatArray) -> list[float | None]:
        total = np.bincount(places, weights, minlength=bins) if frames else np.zeros(bins)
        summed = np.bincount(places, values * weights, minlength=bins) if frames else np.zeros(bins)
        return [float(f"{s / w:.6g}") if w > 0 else None for s, w in zip(summed, total, strict=True)]

    def mean(values: Sequence[float | None]) -> list[float | None]:
        known = np.array([value is not None for value in values], dtype=np.float64)
        return by_bin(known, np.array([value or 0.0 for value in values]))

    return {
        "cores": mean([frame.cores for frame in frames]),
        "rate_per_s": mean([frame.rate_per_s for frame in frames]),
        "paths": {path: by_bin(*_responses(frames, path)) for path in figures.required_paths},
    }


def _responses(frames: Sequence[Frame], path: str) -> tuple[FloatArray, FloatArray]:
    """The tuples that left the path in each round, and their mean response time."""
    completed = np.array([frame.paths[path].completed for frame in frames], dtype=np.float64)
    return completed, np.array([frame.paths[path].mean_s or 0.0 for frame in frames])
