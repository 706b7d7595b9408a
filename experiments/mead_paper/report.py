"""Show a comparison as tables, and write it as Markdown, CSV and plots."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

from rich.table import Table
from rich.text import Text

from experiments.mead_paper.rows import RUN_FIGURES, PolicyRow, columns_of, run_json
from experiments.mead_paper.tables import Case
from mead.reports.tables import plain_table

NOTE = (
    "response: mean or percentile over the run, mean over the seeds ± half of their range. met: with how many seeds. "
    "broken: five-minute windows, one every 30 s. worst: the same statistic in the worst minute, s. A clairvoyant "
    "schedule knows the future and meets the requirement over the run, not in windows; impossible: not even full share "
    "meets it. all free: shares of all operators are chosen, and both paths have the requirement; counter: response of "
    "the other path. paper: response in s, CPU in %."
)


def headline(case: Case, seeds: int) -> str:
    """The title of a case."""
    workload, requirement = case.workload, case.requirement
    over = f", {seeds} seeds" if seeds > 1 else ""
    bound = f"{requirement.statistic} at most {requirement.bound_s:g} s"
    free = f", all free, others {workload.others:.2g} of it" if workload.free else ""
    return f"{workload.title}: {bound}; demand {1000 * workload.demand_s:.3g} ms{free}{over}"


def comparison_tables(rows: Sequence[PolicyRow]) -> Iterator[Table]:
    """One table for each case."""
    for group in _by_case(rows):
        table = plain_table(headline(group[0].case, len(group[0].results)), "policy", *columns_of(group[0].case))
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


def window_conclusions(rows: Sequence[PolicyRow]) -> Iterator[str]:
    """For Table III: the windows with which a policy breaks the requirement, here and in the paper.

    The paper concludes that 100,000 inter-arrival times break it where changes are abrupt, and that 25,000 do not.
    """
    for group in _by_case(rows):
        bound_s = group[0].case.requirement.bound_s
        families = dict.fromkeys(row.label.partition("@")[0] for row in group if "@windows=" in row.label)
        for family in families:
            own = {row.label.partition("@windows=")[2]: row for row in group if row.label.startswith(f"{family}@")}
            broken = [size for size, row in own.items() if row.met < len(row.results)]
            said = f"{group[0].case.workload.name}, {family}: broken with {_windows(broken)}"
            papers = {size: row.published for size, row in own.items() if row.published is not None}
            published = [size for size, paper in papers.items() if paper.response_s > bound_s]
            yield f"{said}; in the paper with {_windows(published)}." if papers else f"{said}."


def _windows(sizes: Sequence[str]) -> str:
    return f"windows of {', '.join(sizes)}" if sizes else "no window"


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
        columns = columns_of(group[0].case)
        lines += [_line(("policy", *columns)), _line(["---"] + ["---:"] * len(columns))]
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
    """CSV, Markdown and the plots of every case; the files that were written."""
    folder.mkdir(parents=True, exist_ok=True)
    table, page = folder / f"{name}.csv", folder / f"{name}.md"
    write_csv(rows, table)
    page.write_text(markdown(title, rows))
    return [table, page, *plot_all(folder, name, rows)]


def plot_all(folder: Path, name: str, rows: Sequence[PolicyRow]) -> list[Path]:
    """For every case, the course of every policy (Figs. 8 and 9) and the distributions of response times (Fig. 10)."""
    from experiments.mead_paper.plots import plot_distributions
    from mead.reports.comparison_plot import Panel, plot_comparison

    plots = []
    for group in _by_case(rows):
        requirement = group[0].case.requirement
        stem = f"{name}-{group[0].case.workload.name}-{requirement.statistic}-{requirement.bound_s:g}"
        course, distribution = folder / f"{stem}.png", folder / f"{stem}-distribution.png"
        firsts = [(row.label, row.results[0]) for row in group]
        title = f"{headline(group[0].case, 1)}, seed {firsts[0][1].seed}"
        panels = [Panel(label, one.outcome, one.course) for label, one in firsts if one.outcome and one.course]
        plot_comparison(title, panels, course)
        known = {label: one.quantiles_s for label, one in firsts if one.quantiles_s is not None}
        plot_distributions(title, known, requirement, distribution)
        plots += [course, distribution]
    return plots


def _by_case(rows: Iterable[PolicyRow]) -> Iterator[list[PolicyRow]]:
    for _, group in groupby(rows, key=lambda row: (row.case.workload.name, row.case.requirement)):
        yield list(group)


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
