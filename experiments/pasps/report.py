"""Run tables of the PA-SPS paper and show them beside the published ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import isnan
from typing import Any

from rich.table import Table
from rich.text import Text

from experiments.pasps.claims import Claim
from experiments.pasps.metrics import Metrics
from experiments.pasps.run import system_run
from experiments.pasps.tables import PaSpsTable
from mead.reports.tables import NOTHING, number, plain_table

COLUMNS = ("saved", "degradation", "processed", "latency ms", "err. input", "err. replica")
NOTE = (
    "saved: part of the over-provisioned replicas. degradation: mean |in - out| / in of intervals of 30 s. processed: "
    "of what was received, by the end of the run. Below a row in grey: the paper's, on its own cluster and traces; "
    "shapes can be compared, not numbers. A claim of the paper that is false of our runs is marked."
)


@dataclass(frozen=True, eq=False)
class TableResult:
    """A table that has been run."""

    table: PaSpsTable
    rows: Mapping[str, Metrics]
    seeds: int

    @property
    def claims(self) -> Sequence[Claim]:
        """The paper's claims, checked on our rows."""
        return self.table.claims(self.rows)

    def as_json(self) -> dict[str, Any]:
        """One entry of ``tables``."""
        return {
            "title": self.table.title,
            "scenario": self.table.scenario.title,
            "seeds": self.seeds,
            "rows": [
                {
                    "system": system,
                    "metrics": _json(metrics),
                    "paper": _json(self.table.published[system]) if system in self.table.published else None,
                }
                for system, metrics in self.rows.items()
            ],
            "claims": [asdict(claim) for claim in self.claims],
        }


def _json(metrics: Metrics) -> dict[str, float | None]:
    """A latency is null if no tuple left."""
    return {name: None if value is None or isnan(value) else value for name, value in asdict(metrics).items()}


def table_result(
    table: PaSpsTable, seeds: Sequence[int], duration_s: int, progress: Callable[[str], None]
) -> TableResult:
    """Run every system of a table with every seed; ``progress`` is told which one is next."""
    rows = {}
    for system in table.systems:
        runs = []
        for seed in seeds:
            progress(f"{table.scenario.name} {system}")
            runs.append(system_run(table.scenario, system, seed, duration_s).metrics)
        rows[system] = Metrics.mean(runs)
    return TableResult(table, rows, len(seeds))


def table_parts(result: TableResult) -> Iterator[Table | Text]:
    """The table, and which of the paper's claims hold."""
    over = f", {result.seeds} seeds" if result.seeds > 1 else ""
    shown = plain_table(f"{result.table.title}; {result.table.scenario.title}{over}", "system", *COLUMNS)
    for system, metrics in result.rows.items():
        name = system.removeprefix("pasps@predictor=").replace("@", " ")  # so that a long one breaks there
        shown.add_row(Text(name), *_cells(metrics))
        if paper := result.table.published.get(system):
            shown.add_row(Text("  paper", style="dim"), *(Text(cell, style="dim") for cell in _cells(paper)))
    yield shown
    claims = (
        Text(f"{'holds' if claim.holds else 'DIFFERS'}: {claim.text}", style="" if claim.holds else "yellow")
        for claim in result.claims
    )
    yield Text("\n").join(claims)


def _cells(metrics: Metrics) -> list[str]:
    errors = (metrics.input_error, metrics.replica_error)
    return [
        *(f"{value:.3f}" for value in (metrics.saved, metrics.degradation, metrics.processed)),
        number(metrics.latency_ms),
        *(NOTHING if error is None else f"{error:.3f}" for error in errors),
    ]
