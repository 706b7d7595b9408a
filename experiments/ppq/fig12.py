"""Figs. 12 and 13 of the Elastic-PPQ paper: the window stage with and without MERGE tasks.

The paper says windows of 1 s; the logs behind its figure are of 600 ms, and so is this by default.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

from rich.table import Table

from experiments.ppq.measures import during_stream, mean, plain
from experiments.ppq.streams import markovian
from mead.preference.control.fuzzy import CODE, Profile
from mead.preference.simulator.system import Setting, simulate
from mead.preference.windows.panes import Windows
from mead.reports.tables import number, plain_table

SLIDE_MS = 200
LOGGED_MS = 600


@dataclass(frozen=True)
class PublishedFig12:
    """From the authors' logs."""

    window_workers: float
    idle_ratio: float
    merges_per_update: float


PUBLISHED = {False: PublishedFig12(25.0, 0.396, 0.0), True: PublishedFig12(15.9, 0.224, 0.377)}
PUBLISHED_SAVING = 0.43

COLUMNS = ("window_workers", "idle_ratio", "merges_per_update", "overrun")


@dataclass(frozen=True)
class Fig12Run:
    """One form of scheduling; means over all control intervals while tuples arrive."""

    merging: bool
    seed: int
    window_ms: int
    pane_workers: float
    window_workers: float
    window_utilization: float
    idle_ratio: float
    merges_per_update: float
    overrun: float
    paper: PublishedFig12

    def as_json(self) -> dict[str, Any]:
        """One entry of ``runs``."""
        result: dict[str, Any] = plain(self)
        return result


def runs(seeds: Sequence[int], duration_s: float, window_ms: int, profile: Profile = CODE) -> Iterator[Fig12Run]:
    """Without and with MERGE tasks, on the same stream."""
    setting = Setting(windows=Windows(window_ms, SLIDE_MS), set_point=0.8, profile=profile)
    for seed in seeds:
        trace = markovian(30e3, 1e3, duration_s, seed)
        for merging in (False, True):
            outcome = simulate(trace, replace(setting, merging=merging))
            inside = during_stream(outcome)
            yield Fig12Run(
                merging,
                seed,
                window_ms,
                mean(inside, lambda one: one.degrees.panes),
                mean(inside, lambda one: one.degrees.windows),
                mean(inside, lambda one: one.window_utilization),
                mean(inside, lambda one: one.idle_ratio),
                outcome.merges / outcome.updates,
                outcome.overrun,
                PUBLISHED[merging],
            )


def saving(done: Sequence[Fig12Run], field: str) -> float:
    """By what part the mean of a field is lower with MERGE tasks."""
    without, merging = (mean([one for one in done if one.merging == wanted], attrgetter(field)) for wanted in (0, 1))
    return 1 - merging / without


def fig12_parts(done: Sequence[Fig12Run]) -> Iterator[Table | str]:
    """Both forms with the logs' in parentheses, and what follows."""
    table = plain_table(
        f"Figs. 12 and 13: windows of {done[0].window_ms} ms (authors' logs in parentheses)",
        "", "window workers", "idle", "MERGE/UPDATE", "overrun, %",
    )  # fmt: skip
    for merging in (False, True):
        ours = [one for one in done if one.merging == merging]
        workers, idle, merges, late = (mean(ours, attrgetter(name)) for name in COLUMNS)
        paper = PUBLISHED[merging]
        table.add_row(
            "fb-opt" if merging else "fb-default",
            f"{number(workers)} ({number(paper.window_workers)})",
            f"{number(idle)} ({number(paper.idle_ratio)})",
            f"{number(merges)} ({number(paper.merges_per_update)})",
            f"{100 * late:.1f}",
        )
    yield table
    yield (
        f"MERGE tasks leave {100 * saving(done, 'idle_ratio'):.0f} % less idle time (logs: "
        f"{100 * PUBLISHED_SAVING:.0f} %, the paper: 45 %) and take {100 * saving(done, 'window_workers'):.0f} % fewer "
        "workers (logs: 36 %)."
    )
    if done[0].window_ms != LOGGED_MS:
        yield f"The logs are of windows of {LOGGED_MS} ms; compare with those."
