"""Fig. 7 of the DRS paper: measured beside modelled times of the six allocations of Fig. 6, and their correlation.

The paper says that they are "positively" and "strongly" correlated and prints no number.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.table import Table

from experiments.drs.fig6 import PlacementComparison
from mead.arrays import FloatArray
from mead.reports.tables import number, plain_table

STRONG = 0.7
"""A correlation that is commonly called strong."""


@dataclass(frozen=True)
class Correlation:
    """The allocations of one application, modelled and measured."""

    comparison: PlacementComparison

    @property
    def name(self) -> str:
        """Name of the application."""
        return self.comparison.application.name

    @property
    def times_s(self) -> FloatArray:
        """Modelled and measured times, one row each."""
        return np.array([(one.model_s, one.mean_s) for one in self.comparison.configurations]).T

    @property
    def linear(self) -> float:
        """Pearson's correlation of the times."""
        return _pearson(*self.times_s)

    @property
    def ranks(self) -> float:
        """Spearman's correlation: 1 if the model has every allocation in its true place."""
        return _pearson(*(np.argsort(np.argsort(times_s)).astype(float) for times_s in self.times_s))

    def as_json(self) -> dict[str, Any]:
        """One entry of ``applications``."""
        modelled_s, measured_s = self.times_s.tolist()
        return {
            "application": self.name,
            "model_s": modelled_s,
            "measured_s": measured_s,
            "pearson": self.linear,
            "spearman": self.ranks,
        }


def _pearson(one: FloatArray, other: FloatArray) -> float:
    return float(np.corrcoef(one, other)[0, 1])


def fig7_parts(found: Sequence[Correlation]) -> Iterator[Table | str]:
    """One row for each application, and the comparison with the paper."""
    table = plain_table("modelled and measured times of six allocations", "application", "Pearson", "Spearman", "ratio")
    for one in found:
        modelled_s, measured_s = one.times_s
        ratio = measured_s / modelled_s
        spread = f"{number(ratio.min())} to {number(ratio.max())}"
        table.add_row(one.name, f"{one.linear:.3f}", f"{one.ranks:.3f}", spread)
    yield table
    strong = [one.name for one in found if one.linear >= STRONG]
    weak = [f"{one.name} ({one.linear:.2f})" for one in found if one.linear < STRONG]
    said = f"Strongly correlated, as the paper says: {', '.join(strong) or 'none'}"
    yield f"{said}. Not so here: {', '.join(weak)}." if weak else f"{said}."
