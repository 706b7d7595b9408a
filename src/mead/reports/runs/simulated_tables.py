"""A run as tables for a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table
from rich.text import Text

from mead.reports.runs.simulated_report import RunReport
from mead.reports.tables import NOTHING, TimeUnit, number, plain_table, yes_or_no


def run_tables(report: RunReport) -> Iterator[Table | Text]:
    """Response times, requirements, cores, and a line on the rest."""
    yield Text(
        f"{report.pipeline} under {report.outcome.policy}: {report.tuples:,} tuples in "
        f"{number(report.duration_s)} s, seed {report.seed}"
    )
    yield _response_table(report)
    if report.outcome.verdicts:
        yield _requirement_table(report)
    yield _cores_table(report)
    yield _summary(report)


def _response_table(report: RunReport) -> Table:
    rows = {path: [one.mean_s, *one.percentiles_s.values()] for path, one in report.paths.items()}
    unit = TimeUnit.of(time_s for times_s in rows.values() for time_s in times_s if time_s is not None)
    table = plain_table(f"Response time in {unit.name}", "path", "mean", "p50", "p95", "p99", "tuples")
    for path, times_s in rows.items():
        shown = (NOTHING if time_s is None else unit.show(time_s) for time_s in times_s)
        table.add_row(Text(path), *shown, f"{report.paths[path].completed:,}")
    return table


def _requirement_table(report: RunReport) -> Table:
    table = plain_table("Requirements, in s", "required", "measured", "met", "broken windows", "worst minute")
    for verdict in report.outcome.verdicts:
        table.add_row(
            Text(str(verdict.requirement).removesuffix(" s")),
            number(verdict.response_s),
            yes_or_no(met=verdict.met),
            f"{verdict.broken_windows:.1%}",
            number(verdict.worst_minute_s),
        )
    return table


def _cores_table(report: RunReport) -> Table:
    table = plain_table("CPU cores, time average", "operator", "cores")
    for name, cores in report.cores.items():
        table.add_row(Text(name), f"{cores:.3f}")
    table.add_section()
    table.add_row("mean of the operators", f"{report.outcome.cpu:.3f}")
    return table


def _summary(report: RunReport) -> Text:
    decisions = sum(this.plan is not None for this in report.rounds)
    text = Text(f"{report.outcome.changes:,} changes in {decisions:,} decisions; {report.lost} tuples lost.")
    if report.failed_rounds:
        first = report.failed_rounds[0]
        text.append(
            f"\n{len(report.failed_rounds)} rounds failed and changed nothing; the first, at {first.time_s:g} s, in "
            f"{first.error}",
            style="bold red",
        )
    return text
