"""Fig. 9 of the Elastic-PPQ paper: both levels of control under a rate that jumps every 30 s."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from rich.table import Table

from experiments.ppq.measures import mean, per_second, plain
from experiments.ppq.streams import disordered
from mead.preference.control.degrees import Degrees
from mead.preference.control.fuzzy import CODE, Profile
from mead.preference.simulator.system import Setting, simulate
from mead.preference.windows.panes import Windows
from mead.reports.tables import number, plain_table
from mead.workload import Steps

PANES_ONLY = Setting(windows=Windows(1000, 100), set_point=0.9, panes_only=True, most=61)
"""The set-up of Figs. 9 to 11: the pane stage alone, with a phantom worker in the window stage."""

FIRST_DECISION_S = 5.0
"""After two intervals. For a second of the first one nothing can be split, so that a utilization above 2 is measured.
A controller that reacts to it uses five workers at once, but the paper says that there were three for half a minute."""

PUBLISHED = ("3", "4", "5 to 6", "6", "fewer", "fewer")
IDEAL_PANES_PER_S = 10.0


@dataclass(frozen=True)
class RateStep:
    """One rate of one run."""

    rate_per_s: float
    workers: tuple[int, ...]
    """Interval by interval."""
    splitting: float
    utilization: float
    panes_per_s: float
    published_workers: str

    @property
    def usual(self) -> float:
        """Workers in the second half of the step, on average: when the change has been dealt with."""
        return float(np.mean(self.workers[len(self.workers) // 2 :]))


@dataclass(frozen=True)
class Fig9Run:
    """All steps of one seed."""

    seed: int
    steps: tuple[RateStep, ...]

    @property
    def follows(self) -> bool:
        """Whether workers rise with the rate to the fourth step, and fall with it after that."""
        usual = [step.usual for step in self.steps]
        return usual[:4] == sorted(usual[:4]) and usual[3:] == sorted(usual[3:], reverse=True) and usual[5] < usual[3]

    def as_json(self) -> dict[str, Any]:
        """One entry of ``runs``."""
        result: dict[str, Any] = plain(self) | {"follows": self.follows}
        return result


def run(seed: int, step_s: float = 30.0, profile: Profile = CODE) -> Fig9Run:
    """One run, step by step."""
    source = Steps(step_s=step_s)
    setting = replace(PANES_ONLY, start=Degrees(3, 1), first_decision_s=FIRST_DECISION_S, profile=profile)
    outcome = simulate(disordered(source, seed), setting)
    done = per_second(outcome.panes_s, step_s * len(source.rates_per_s))
    found = []
    for place, (rate, published) in enumerate(zip(source.rates_per_s, PUBLISHED, strict=True)):
        start_s, end_s = place * step_s, (place + 1) * step_s
        inside = [one for one in outcome.intervals if start_s < one.end_s <= end_s]
        found.append(
            RateStep(
                rate,
                tuple(one.degrees.panes for one in inside),
                mean(inside, lambda one: one.splitting),
                mean(inside, lambda one: one.pane_utilization),
                float(done[int(start_s) : int(end_s)].mean()),
                published,
            )
        )
    return Fig9Run(seed, tuple(found))


def fig9_parts(runs: Sequence[Fig9Run]) -> Iterator[Table | str]:
    """Workers step by step, one column per seed, and whether the shape is the paper's."""
    table = plain_table(
        "Fig. 9: pane workers under a rate that jumps, in the second half of each step",
        "tuples/s", *(f"seed {one.seed}" for one in runs), "paper",
    )  # fmt: skip
    means = plain_table("The same, means over all seeds", "tuples/s", "splitting", "utilization", "panes/s (ideal 10)")
    for steps in zip(*(one.steps for one in runs), strict=True):
        rate = f"{steps[0].rate_per_s:,.0f}"
        table.add_row(rate, *(number(step.usual) for step in steps), steps[0].published_workers)
        values = [[step.splitting, step.utilization, step.panes_per_s] for step in steps]
        means.add_row(rate, *(number(value) for value in np.mean(values, axis=0).tolist()))
    yield table
    yield means
    yield (
        f"Workers rise and fall with the rate, as in the paper, with {sum(one.follows for one in runs)} of {len(runs)} "
        "seeds. The paper shows one run, and of its 72 logged decisions 15 are not those of the published controller."
    )
    yield f"Of {IDEAL_PANES_PER_S:g} panes per second at least {_least(runs):.2f} are completed in every step."


def _least(runs: Sequence[Fig9Run]) -> float:
    return min(step.panes_per_s for one in runs for step in one.steps)
