"""Two loads for `hybrid`: one above what one replica can do, one far below a whole core."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from rich.table import Table
from rich.text import Text

from experiments.arena.contest import Bout, Contest, Score
from experiments.comparison import PolicyContender
from experiments.workloads import Workload
from mead.reports.tables import plain_table
from mead.values import Requirement
from mead.workload import Markovian, Steps

RATE_PER_S, SWING_S, STEP_S = 330.0, 120.0, 5.0
HEAVY_CORES, LIGHT_CORES = 1.6, 0.35
ONE_KNOB = ("adaptive",)
"""Policies that only choose the share here, with one replica."""

POLICIES = (*ONE_KNOB, "drs", "drs@t_ra_s=60", "pasps", "hybrid")
"""By default DRS keeps its start allocation for six minutes; the variant does so for one."""


def loads(duration_s: float) -> tuple[Contest, Contest]:
    """Bursts of more than one core, and a load of a third of a core that swings every two minutes."""
    middle_s = np.arange(0.5 * STEP_S, duration_s, STEP_S)
    swing = RATE_PER_S * (1 + 0.8 * np.sin(2 * np.pi * middle_s / SWING_S))
    bursts = Markovian(rate_per_s=RATE_PER_S, idc=50.0, duration_s=duration_s)
    swings = Steps(rates_per_s=tuple(swing.tolist()), step_s=STEP_S)
    return (
        Contest(Workload("heavy", f"bursts that need {HEAVY_CORES:g} cores in the mean", 0.0, bursts), HEAVY_CORES),
        Contest(Workload("light", f"a swing around {LIGHT_CORES:g} cores", 0.0, swings), LIGHT_CORES),
    )


def load_bouts(requirement: Requirement, seeds: Sequence[int], duration_s: float, delay_s: float) -> list[Bout]:
    """Every policy on both loads."""
    return [
        Bout(
            replace(load, most_replicas=1) if name in ONE_KNOB else load,
            PolicyContender.of(name),
            (requirement,),
            seed,
            delay_s,
        )
        for load in loads(duration_s)
        for name in POLICIES
        for seed in seeds
    ]


def load_tables(scores: Sequence[Score], duration_s: float) -> Iterator[Table]:
    """One table for each load, with means over the seeds."""
    for load in loads(duration_s):
        table = plain_table(
            f"{load.name}: {load.workload.title}",
            "policy",
            "response s",
            "met",
            "cores",
            "replicas",
            "changes/h",
            "of replicas/h",
        )
        for name in POLICIES:
            own = [one for one in scores if one.workload == load.name and one.policy == name]

            def mean(figure: str, own: Sequence[Score] = own) -> float:
                return float(np.mean([getattr(one, figure) for one in own]))

            label = f"{name} (one replica)" if name in ONE_KNOB else name
            table.add_row(
                Text(label),
                f"{mean('response_s'):.3f}",
                f"{sum(one.met for one in own)}/{len(own)}",
                f"{mean('cores'):.2f}",
                f"{mean('replicas'):.2f}",
                f"{mean('changes_per_h'):.0f}",
                f"{mean('replica_changes_per_h'):.0f}",
            )
        yield table
