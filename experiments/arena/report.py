"""Print the arena as tables, and write it as CSV."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields
from pathlib import Path

from rich.table import Table
from rich.text import Text

from experiments.arena.board import DEPENDABLE, Bounds, Standing, WorkloadBoard
from experiments.arena.contest import Score
from mead.reports.tables import NOTHING, plain_table

NOTE = (
    f"A policy is dependable if it meets at least {DEPENDABLE:.0%} of the runs that any policy met. Dependable ones "
    "are ranked by cores, others by requirements met. met: of the runs whose requirement any policy met. cores: time "
    "average of the matcher. over bound: above the least that any schedule needs, even one that knows the future. "
    "broken: five-minute windows. worst: worst minute over its bound. changes: per hour; rep.: those of replicas. DRS "
    "treats a percentile as a bound on the mean; PA-SPS does not use requirements."
)
COLUMNS = ("met", "cores", "over bound", "broken", "worst", "changes", "rep.")


def cells(one: Standing) -> list[str]:
    """The cells of a standing after rank and name."""
    return [
        f"{one.met}/{one.possible}" + (f", {one.lost} lost" if one.lost else ""),
        f"{one.cores:.2f}",
        NOTHING if one.over_bound is None else f"{one.over_bound:+.0%}",
        f"{one.broken_windows:.0%}",
        f"{one.worst_minute:.2f}",
        f"{one.changes_per_h:.0f}",
        f"{one.replica_changes_per_h:.0f}",
    ]


def arena_tables(standings: Sequence[Standing], workloads: Sequence[WorkloadBoard], bounds: Bounds) -> Iterator[Table]:
    """The leaderboard, and the winner of every workload."""
    table = plain_table("Leaderboard; policies below the line are not dependable", "policy", *COLUMNS)
    dependable = sum(one.dependable for one in standings)
    for one in standings:
        last = one.rank == dependable
        table.add_row(Text(f"{one.rank}. {one.policy}"), *cells(one), end_section=last)
    yield table
    table = plain_table("By workload", "workload", "bound, cores", "first", *COLUMNS[:2], "")
    for each in workloads:
        table.add_row(*map(Text, workload_cells(each, bounds)))
    yield table


def workload_cells(one: WorkloadBoard, bounds: Bounds) -> list[str]:
    """A workload, its first policy, and the place of ours."""
    known = [cores for (workload, _, _), cores in bounds.items() if workload == one.workload and cores is not None]
    first = one.winner
    bound = f"{sum(known) / len(known):.2f}" if known else NOTHING
    return [one.workload, bound, first.policy, *cells(first)[:2], one.remark]


def write_csv(scores: Sequence[Score], path: Path) -> None:
    """One line for each policy, workload, requirement and seed."""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Score)])
        writer.writeheader()
        writer.writerows(asdict(one) for one in scores)
