"""Show a comparison as tables, and write it as Markdown, CSV and plots."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

from rich.table import Table
from rich.text import Text

from experiments.mead_paper.rows import COLUMNS, RUN_FIGURES, PolicyRow, run_json
from experiments.mead_paper.tables import Case
from mead.reports.tables import plain_table

NOTE = (
    "response: mean or percentile over the run, mean over the seeds ± half of their range. met: with how many seeds. "
    "broken: five-minute windows, one every 30 s. worst: the same statistic in the worst minute, s. A clairvoyant "
    "schedule knows the future and meets the requirement over the run, not in windows; impossible: not even full share "
    "meets it. paper: response in s, CPU in %."
)


def headline(case: Case, seeds: int) -> str:
    """The title of a case."""
    workload, requirement = case.workload, case.requirement
    over = f", {seeds} seeds" if seeds > 1 else ""
    bound = f"{requirement.statistic} at most {requirement.bound_s:g} s"
    return f"{workload.title}: {bound}; demand {1000 * workload.demand_s:.3g} ms{over}"


def comparison_tables(rows: Sequence[PolicyRow]) -> Iterator[Table]:
    """One table for each case."""
    for group in _by_case(rows):
        table = plain_table(headline(group[0].case, len(group[0].results)), "policy", *COLUMNS)
        table.columns[0].min_width, table.columns[0].overflow = 11, "fold"
        for row in group:
            kept = row.met == len(row.results)
            cells = [Text(cell) for cell in row.cells]
            if not kept:
                cells[0].stylize("red")
                cells[1].stylize("red")
            table.add_row(Text(row.label.replace("@", " ")), *cells)  # so that long ones break there
        proven = proofs(group)
        if proven:
            table.caption, table.caption_justify = proven, "left"
        yield table


def proofs(rows: Sequence[PolicyRow]) -> str:
    """The proven lower bounds on CPU, in a sentence."""
    parts = [
        f"{100 * row.proven_cpu:.1f} % ({row.label.removeprefix('clairvoyant ')})" for row in rows if row.proven_cpu
    ]
    return f"No schedule keeps it for less CPU than {', '.join(parts)}." if parts else ""


def markdown(title: str, rows: Sequence[PolicyRow]) -> str:
    """The same tables as a page."""
    lines = [f"# {title}", "", NOTE, ""]
    for group in _by_case(rows):
        lines += [f"## {headline(group[0].case, len(group[0].results))}", ""]
        lines += [_line(("policy", *COLUMNS)), _line(["---"] + ["---:"] * len(COLUMNS))]
        lines += [_line([row.label, *row.cells]) for row in group]
        lines += ["", proofs(group), ""]
    return "\n".join(lines).rstrip() + "\n"


def write_csv(rows: Sequence[PolicyRow], path: Path) -> None:
    """One line for each run."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(
            ["trace", "requirement", "policy", "seed", *RUN_FIGURES, "paper_response_s", "paper_cpu_percent"]
        )
        for row in rows:
            requirement, paper = row.case.requirement, row.published
            published = ("", "") if paper is None else (paper.response_s, paper.cpu_percent)
            for result in row.results:
                name = f"{requirement.statistic}={requirement.bound_s:g}"
                figures = run_json(result)
                writer.writerow([row.case.workload.name, name, row.label, *figures.values(), *published])


def write_all(folder: Path, name: str, title: str, rows: Sequence[PolicyRow]) -> list[Path]:
    """CSV, Markdown and one plot for each case; the files that were written."""
    from mead.reports.comparison_plot import Panel, plot_comparison

    folder.mkdir(parents=True, exist_ok=True)
    table, page = folder / f"{name}.csv", folder / f"{name}.md"
    write_csv(rows, table)
    page.write_text(markdown(title, rows))
    plots = []
    for group in _by_case(rows):
        requirement = group[0].case.requirement
        plot = folder / f"{name}-{group[0].case.workload.name}-{requirement.statistic}-{requirement.bound_s:g}.png"
        firsts = [(row.label, row.results[0]) for row in group]
        panels = [Panel(label, one.outcome, one.course) for label, one in firsts if one.outcome and one.course]
        plot_comparison(f"{headline(group[0].case, 1)}, seed {firsts[0][1].seed}", panels, plot)
        plots.append(plot)
    return [table, page, *plots]


def _by_case(rows: Iterable[PolicyRow]) -> Iterator[list[PolicyRow]]:
    for _, group in groupby(rows, key=lambda row: (row.case.workload.name, row.case.requirement)):
        yield list(group)


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
