"""Figs. 14 and 15 of the Elastic-PPQ paper: the stream Game1 in detail, beside fixed numbers of workers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from rich.table import Table

from experiments.ppq.logs import GAME1, GAME1_STATIC, LoggedRun
from experiments.ppq.measures import during_stream, mean, plain, variation, windows_per_s
from experiments.ppq.streams import GAME
from mead.preference.control.degrees import Degrees
from mead.preference.control.fuzzy import CODE, Profile
from mead.preference.simulator.cost import SKYLINE
from mead.preference.simulator.system import Interval, Setting, simulate
from mead.reports.tables import number, plain_table
from mead.workload import Trace

STATIC = Degrees(6, 38)
"""The fewest workers with which no stage was a bottleneck in the authors' runs."""

PHASE_S = 30.0


@dataclass(frozen=True)
class Phase:
    """Some seconds of the run: what Fig. 14 draws."""

    end_s: float
    rate_per_s: float
    pane_workers: float
    splitting: float
    window_workers: float


@dataclass(frozen=True)
class Fig14Run:
    """The stream under control, or with fixed workers."""

    elastic: bool
    seed: int
    pane_workers: float
    window_workers: float
    splitting: float
    pane_utilization: float
    window_utilization: float
    windows_per_s: float
    variation: float
    phases: tuple[Phase, ...]
    logged: LoggedRun

    def as_json(self) -> dict[str, Any]:
        """One entry of ``runs``."""
        result: dict[str, Any] = plain(self)
        return result


def runs(seed: int, duration_s: float, profile: Profile = CODE) -> Iterator[Fig14Run]:
    """Both on the same stream."""
    trace, setting = GAME.make(duration_s, seed), replace(GAME.setting(SKYLINE), profile=profile)
    for elastic in (True, False):
        chosen = setting if elastic else replace(setting, elastic=False, start=STATIC)
        outcome = simulate(trace, chosen)
        inside = during_stream(outcome)
        yield Fig14Run(
            elastic,
            seed,
            mean(inside, lambda one: one.degrees.panes),
            mean(inside, lambda one: one.degrees.windows),
            outcome.splitting,
            mean(inside, lambda one: one.pane_utilization),
            mean(inside, lambda one: one.window_utilization),
            windows_per_s(outcome),
            variation(outcome.windows_s, outcome.run_s),
            tuple(_phases(trace, inside)),
            GAME1["skyline"][Setting.set_point] if elastic else GAME1_STATIC,
        )


def _phases(trace: Trace, intervals: Sequence[Interval]) -> Iterator[Phase]:
    since_s = (trace.timestamps_us - trace.timestamps_us[0]) / 1e6
    for start_s in np.arange(0.0, intervals[-1].end_s, PHASE_S):
        of_phase = [one for one in intervals if start_s < one.end_s <= start_s + PHASE_S]
        if of_phase:
            end_s = of_phase[-1].end_s
            tuples = np.count_nonzero((since_s >= start_s) & (since_s < end_s))
            yield Phase(
                end_s,
                tuples / (end_s - start_s),
                mean(of_phase, lambda one: one.degrees.panes),
                mean(of_phase, lambda one: one.splitting),
                mean(of_phase, lambda one: one.degrees.windows),
            )


def fig14_parts(done: Sequence[Fig14Run]) -> Iterator[Table | str]:
    """The course of the run, both throughputs, and what follows."""
    both, static = done
    course = plain_table(
        f"Fig. 14: {GAME.title}, in steps of {PHASE_S:g} s", "until, s", "tuples/s", "pane workers", "splitting",
        "window workers",
    )  # fmt: skip
    for phase in both.phases:
        course.add_row(*map(number, vars(phase).values()))
    yield course
    table = plain_table(
        "Fig. 15: throughput (authors' logs in parentheses)",
        "workers", "pane", "window", "splitting", "utilization, pane", "window", "windows/s", "CV",
    )  # fmt: skip
    for name, one in (("two levels", both), (f"fixed, {STATIC.panes} + {STATIC.windows}", static)):
        logged = one.logged
        table.add_row(
            name,
            *(f"{number(ours)} ({number(theirs)})" for ours, theirs in (
                (one.pane_workers, logged.pane_workers),
                (one.window_workers, logged.window_workers),
                (one.splitting, logged.splitting),
            )),
            number(one.pane_utilization),
            number(one.window_utilization),
            f"{one.windows_per_s:.3f} ({logged.windows_per_s:.3f})",
            f"{number(one.variation)} ({number(logged.variation)})",
        )  # fmt: skip
    yield table
    rates, workers = ([getattr(one, of) for one in both.phases] for of in ("rate_per_s", "window_workers"))
    follows = float(np.corrcoef(rates, workers)[0, 1]) if len(rates) > 2 else float("nan")
    yield (
        f"Throughput is {100 * (1 - both.windows_per_s / static.windows_per_s):.1f} % below that of fixed workers (the "
        f"paper: less than 1 %). Window workers follow the rate with a correlation of {follows:.2f}."
    )
