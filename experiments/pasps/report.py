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
from experiments.pasps.run import GroupingName, SystemRun, grouping_of, system_run
from experiments.pasps.tables import PaSpsTable
from mead.reports.tables import NOTHING, number, plain_table

COLUMNS = ("saved", "degradation", "processed", "latency ms", "err. input", "err. replica", "CPU %")
TITLES: Mapping[GroupingName, str] = {
    "shared": "one queue",
    "storm": "Storm's shuffle",
    "load_aware": "load-aware, 1 s",
    "load_aware_30s": "load-aware, 30 s",
}
NOTE = (
    "saved: part of the over-provisioned replicas. degradation: mean |in - out| / in of intervals of 30 s. processed: "
    "of what was received, by the end of the run; tuples that time out or meet a full queue are not. CPU: of the "
    "paper's 56 virtual CPUs. Below a row in grey: the paper's, on its own cluster. PA-SPS and PSPS have load-aware "
    "grouping with loads measured every second, the others Storm's shuffle; the table of latencies has the other "
    "groupings. A claim of the paper that is false of our runs is marked."
)


@dataclass(frozen=True, eq=False)
class TableResult:
    """A table that has been run."""

    table: PaSpsTable
    rows: Mapping[str, Metrics]
    seeds: int
    groupings: Mapping[str, Mapping[GroupingName, Metrics]]
    """By published system, its metrics by grouping."""
    runs: Sequence[SystemRun] = ()
    """Of every system the run with the first seed."""

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
                    "grouping": grouping_of(system),
                    "groupings": {name: _json(one) for name, one in self.groupings.get(system, {}).items()},
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
    """Run every system of a table with every seed; ``progress`` is told which one is next.

    Systems of the paper are run under every grouping of the table.
    """
    rows, groupings, firsts = {}, {}, []
    for system in table.systems:
        own = grouping_of(system)
        runs = []
        for seed in seeds:
            progress(f"{table.scenario.name} {system}")
            runs.append(system_run(table.scenario, system, seed, duration_s))
        rows[system] = Metrics.mean([one.metrics for one in runs])
        firsts.append(runs[0])
        if system in table.published:
            others = {
                name: Metrics.mean([system_run(table.scenario, system, s, duration_s, name).metrics for s in seeds])
                for name in table.groupings
                if name != own
            }
            groupings[system] = {name: others.get(name, rows[system]) for name in table.groupings}
    return TableResult(table, rows, len(seeds), groupings, firsts)


def table_parts(result: TableResult) -> Iterator[Table | Text]:
    """The table, the latencies by grouping, and which of the paper's claims hold."""
    over = f", {result.seeds} seeds" if result.seeds > 1 else ""
    columns = COLUMNS if any(one.cpu_percent is not None for one in result.table.published.values()) else COLUMNS[:-1]
    shown = plain_table(f"{result.table.title}; {result.table.scenario.title}{over}", "system", *columns)
    for system, metrics in result.rows.items():
        shown.add_row(_name(system), *_cells(metrics)[: len(columns)])
        if paper := result.table.published.get(system):
            cells = _cells(paper)[: len(columns)]
            shown.add_row(Text("  paper", style="dim"), *(Text(cell, style="dim") for cell in cells))
    yield shown
    if result.groupings:
        names = result.table.groupings
        latencies = plain_table("latency in ms by grouping", "system", *(TITLES[name] for name in names))
        for system, by_name in result.groupings.items():
            latencies.add_row(_name(system), *(number(by_name[name].latency_ms) for name in names))
        yield latencies
    claims = result.claims
    lines = [
        Text(
            f"{'holds' if claim.holds else 'DIFFERS'}: {claim.text} ({claim.found})",
            style="" if claim.holds else "yellow",
        )
        for claim in claims
    ]
    if claims:
        lines.append(Text(f"{sum(claim.holds for claim in claims)} of {len(claims)} claims hold."))
    yield Text("\n").join(lines)


def _name(system: str) -> Text:
    return Text(system.removeprefix("pasps@predictor=").replace("@", " "))  # so that a long one breaks there


def _cells(metrics: Metrics) -> list[str]:
    errors = (metrics.input_error, metrics.replica_error)
    return [
        *(f"{value:.3f}" for value in (metrics.saved, metrics.degradation, metrics.processed)),
        number(metrics.latency_ms),
        *(NOTHING if error is None else f"{error:.3f}" for error in errors),
        NOTHING if metrics.cpu_percent is None else f"{metrics.cpu_percent:.2f}",
    ]
