"""Fig. 18 of the Elastic-PPQ paper: other programs use part of the machine, and more workers compensate.

How much slower a worker gets beside so many stressors is not published. The slow-down is taken to grow linearly with
their number, up to 2.43 when there is one for every virtual core: by so much the threads of the authors' runs grew.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rich.table import Table

from experiments.ppq.measures import WARM_UP_INTERVALS, during_stream, mean, plain, variation, windows_per_s
from experiments.ppq.streams import GAME
from mead.preference.control.fuzzy import CODE, Profile
from mead.preference.simulator.cost import SKYLINE
from mead.preference.simulator.interference import Interference
from mead.preference.simulator.system import simulate
from mead.reports.tables import number, plain_table

INTENSITIES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
SLOWEST = 2.43
PUBLISHED = {0.0: (19.5, 4.93, 0.86), 1.0: (47.3, 4.50, 3.06)}
"""Threads, windows per second and CV in the authors' logs."""


@dataclass(frozen=True)
class Fig18Run:
    """A run beside other work of one intensity."""

    intensity: float
    speed: float
    workers: float
    """Mean workers of both stages."""
    windows_per_s: float
    variation: float

    def as_json(self) -> dict[str, Any]:
        """One entry of ``runs``."""
        result: dict[str, Any] = plain(self)
        return result


def runs(seed: int, duration_s: float, profile: Profile = CODE) -> Iterator[Fig18Run]:
    """The same stream beside more and more other work."""
    trace, alone = GAME.make(duration_s, seed), replace(GAME.setting(SKYLINE), profile=profile)
    for intensity in INTENSITIES:
        speed = 1 / (1 + (SLOWEST - 1) * intensity)
        outcome = simulate(trace, replace(alone, interference=Interference.of([(0.0, speed)])))
        inside = during_stream(outcome, WARM_UP_INTERVALS)
        yield Fig18Run(
            intensity,
            speed,
            mean(inside, lambda one: one.degrees.total),
            windows_per_s(outcome),
            variation(outcome.windows_s, outcome.run_s),
        )


def fig18_parts(done: Sequence[Fig18Run]) -> Iterator[Table | str]:
    """By intensity, with the logs' in parentheses, and what follows."""
    table = plain_table(
        f"Fig. 18: beside other programs ({GAME.title}; authors' logs in parentheses)",
        "intensity", "speed", "workers", "windows/s", "CV",
    )  # fmt: skip
    for one in done:
        logged = PUBLISHED.get(one.intensity)
        ours = (one.workers, one.windows_per_s, one.variation)
        theirs = [""] * 3 if logged is None else [f" ({number(value)})" for value in logged]
        cells = [number(value) + their for value, their in zip(ours, theirs, strict=True)]
        table.add_row(f"{one.intensity:g}", number(one.speed), *cells)
    yield table
    first, last = done[0], done[-1]
    loss = 1 - last.windows_per_s / first.windows_per_s
    yield (
        f"At {100 * last.speed:.0f} % of the speed there are {last.workers / first.workers:.2f} times the workers, and "
        f"the throughput is {100 * loss:.1f} % lower (logs: {SLOWEST} times, 8.7 % lower). The slow-down is the logs' "
        "ratio of threads, so that only the throughput is a prediction."
    )
