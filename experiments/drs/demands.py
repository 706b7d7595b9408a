"""Whether any demands lead DRS to the decisions that the paper publishes for the video (Fu et al. 2017, Figs. 6 and 9).

The paper publishes no demands, but its decisions follow from them. A search over the work per frame of extractor and
matcher, and over the variability of both, counts the demands with which eq. 4 and 5 and Algorithms 1 and 2 decide as in
Fig. 6, as in Fig. 9, and as in both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from rich.table import Table

from mead.policies.drs.model import Model, OpenNetwork, Station
from mead.policies.drs.search import InsufficientProcessors, TmaxUnreachable, assign_processors, min_processors
from mead.reports.tables import plain_table

AGGREGATOR_S = 0.0016
VARIABILITIES = (0.5, 1.0, 2.5, 5.0)
"""``(a + s) / 2`` of eq. 5, from constant work on Poisson arrivals to work with an SCV of 9; 1 is M/M/k."""

T_MAX_S, K_MAX = 1.0, 22
FIG6, FIG9 = "Fig. 6", "Fig. 9"
START, MORE = (3, 5, 1), (4, 6, 1)
"""The placements of Fig. 9 at 6 and at 12 frames per second."""


@dataclass(frozen=True)
class Demands:
    """Seconds of work on a frame, and ``(a + s) / 2``, for extractor and matcher."""

    work_s: tuple[float, float]
    variability: tuple[float, float]

    def network(self, frames_per_s: float) -> OpenNetwork:
        """The model at that rate."""
        stations = (Station(frames_per_s, 1 / w, v, v) for w, v in zip(self.work_s, self.variability, strict=True))
        return OpenNetwork(frames_per_s, (*stations, Station(frames_per_s, 1 / AGGREGATOR_S)), Model.GIGK)

    def placed(self, frames_per_s: float, processors: int) -> tuple[int, ...] | None:
        """The best placement of so many processors; None if they are too few."""
        try:
            return assign_processors(self.network(frames_per_s), processors).processors
        except InsufficientProcessors:
            return None

    def fewest(self, frames_per_s: float) -> tuple[int, ...] | None:
        """The fewest processors for T_max; None if none suffice."""
        try:
            return min_processors(self.network(frames_per_s), T_MAX_S, K_MAX).processors
        except TmaxUnreachable:
            return None

    @property
    def decisions(self) -> dict[str, bool]:
        """Every published decision, and whether these demands lead to it.

        In Fig. 9 (3:5:1) is kept while the smoothed rate rises from 6 to 12, and (4:6:1) while it falls again.
        """
        return {
            f"{FIG6}: (10:11:1) is the best of 22 at 13 frames/s": self.placed(13.0, K_MAX) == (10, 11, 1),
            f"{FIG9}: (4:6:1) is the least for 1 s at 12": self.fewest(12.0) == MORE,
            f"{FIG9}: (3:5:1) breaks 1 s at 12": self.network(12.0).sojourn_s(START) > T_MAX_S,
            f"{FIG9}: (3:5:1) keeps 1 s at 6": self.network(6.0).sojourn_s(START) <= T_MAX_S,
            f"{FIG9}: (3:5:1) is the best of 9 from 6 to 12": self._stays(START, (6.0, 8.0, 10.0, 12.0)),
            f"{FIG9}: (4:6:1) is the best of 11 from 6 to 12": self._stays(MORE, (6.0, 9.0, 12.0)),
        }

    def _stays(self, placement: tuple[int, ...], rates_per_s: Sequence[float]) -> bool:
        total = sum(placement)
        return all(self.placed(rate, total) in {None, placement} for rate in rates_per_s)


@dataclass(frozen=True)
class Search:
    """The number of demands that were tried, and of those that lead to the published decisions."""

    tried: int
    by_decision: dict[str, int]
    fig6: int
    fig9: int
    both: int
    most: int
    """The most published decisions that any demands lead to."""

    @property
    def verdict(self) -> str:
        """The outcome, in words."""
        found = f"Of {self.tried:,} demands, {self.fig6:,} lead to Fig. 6, {self.fig9:,} to Fig. 9, {self.both} to both"
        if self.both:
            return f"{found}."
        return f"{found}: by the paper's own model and algorithms, the two figures have different demands."

    def as_json(self) -> dict[str, Any]:
        """The document."""
        return {
            "tried": self.tried,
            "decisions": self.by_decision,
            "fig6": self.fig6,
            "fig9": self.fig9,
            "both": self.both,
            "most": self.most,
            "verdict": self.verdict,
        }


def search(step_s: float = 0.01) -> Search:
    """Try all demands on a grid: work of 0.12 to 0.45 s per frame, and all variabilities."""
    works_s = np.arange(0.12, 0.45, step_s).tolist()
    found = [
        Demands(work_s, variability).decisions
        for variability in product(VARIABILITIES, VARIABILITIES)
        for work_s in product(works_s, works_s)
    ]
    matrix = np.array([list(one.values()) for one in found])
    of = {figure: matrix[:, [name.startswith(figure) for name in found[0]]].all(axis=1) for figure in (FIG6, FIG9)}
    return Search(
        len(found),
        dict(zip(found[0], matrix.sum(axis=0).tolist(), strict=True)),
        int(of[FIG6].sum()),
        int(of[FIG9].sum()),
        int((of[FIG6] & of[FIG9]).sum()),
        int(matrix.sum(axis=1).max()),
    )


def demands_parts(found: Search) -> Iterator[Table | str]:
    """One row for each published decision, and the verdict."""
    table = plain_table(f"{found.tried:,} demands of extractor and matcher", "published decision", "demands")
    for name, count in found.by_decision.items():
        table.add_row(name, f"{count:,}")
    yield table
    yield found.verdict
