"""Rounds of a long run in which things happen, and a program that writes them until it is killed."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from itertools import cycle
from pathlib import Path

import numpy as np
from tests.web import runs

from mead.history import History, merging
from mead.values import (
    Allocation,
    Cause,
    Grounds,
    Note,
    Observation,
    OperatorReading,
    PathReading,
    Pipeline,
    Plan,
    Prediction,
    Reason,
    Resources,
    Round,
)

PIPELINE: Pipeline = runs.PIPELINE
STARTED = "2026-01-01T12:00:00+00:00"
INTERVAL_S = 5.0
LEVELS = [PIPELINE.most, Allocation.of({name: Resources(0.5) for name in PIPELINE.most})]


def made(happened: Iterable[str], seed: int, *, acts: bool) -> Iterator[Round]:
    """Rounds in which these things happen, with readings drawn at random."""
    rng = np.random.default_rng(seed)
    level = 0
    for number, what in enumerate(happened, start=1):
        time_s = number * INTERVAL_S
        if what == "failed":
            yield Round(time_s, error="observe: TimeoutError: no answer", in_force=LEVELS[level if acts else 0])
            continue
        level ^= what in ("change", "refused")
        in_force = LEVELS[level if acts and what != "refused" else 0]
        completed = int(rng.integers(0, 40))
        seen = Observation(
            time_s=time_s - (2.5 * INTERVAL_S if what == "late" else 0.0),
            interval_s=INTERVAL_S,
            allocation=in_force,
            operators={
                name: OperatorReading(
                    int(rng.integers(0, 50)), completed, int(rng.integers(0, 9)), rng.random(), throttled_s=rng.random()
                )
                for name in PIPELINE.most
            },
            paths={
                path: PathReading(completed, completed * rng.random(), int(rng.integers(0, completed + 1)))
                for path in PIPELINE.paths
            },
            iats_s=np.full(3, 0.1),
            counts=np.full(50, float(rng.integers(0, 9))),
            missing="the workers of parser do not answer" if what == "missing" else "",
        )
        predicted = {path: Prediction(rng.random(), 3 * rng.random()) for path in PIPELINE.paths}
        plan = Plan(
            LEVELS[level],
            LEVELS[level],
            Reason(Cause.UNSAID, (Note(what),)),
            predicted,
            Grounds(caution=2.0 if what == "cautious" else 1.0),
        )
        phase_s = {"observe": rng.random(), "plan": rng.random()}
        yield Round(time_s, seen, plan, phase_s=phase_s, in_force=in_force, demands_s={"parser": 0.001})


def bursty() -> Iterator[str]:
    """A policy that changes something in every other round, without end."""
    return cycle(["change", "keep", "change", "keep", "keep", "change", "change"])


def write_for_ever(file: Path) -> None:
    """Write rounds, and print their number after every commit."""
    merging.KEPT_S = 60.0
    with History.open(file) as history:
        record = history.begin("long", PIPELINE, policy="p", started=STARTED, batch=12)
        for number, this in enumerate(made(bursty(), 1, acts=True), start=1):
            record(this)
            if number % 12 == 0:
                print(number, flush=True)  # noqa: T201 - what it is for


if __name__ == "__main__":
    write_for_ever(Path(sys.argv[1]))
