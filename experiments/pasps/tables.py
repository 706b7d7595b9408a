"""Tables 2 to 8 of the PA-SPS paper as published, and the systems and scenarios that stand for their rows here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from experiments.pasps.claims import (
    Claim,
    complex_claims,
    dns_claims,
    log_claims,
    model_claims,
    peer_claims,
    raw_claims,
    storm_claims,
)
from experiments.pasps.metrics import Metrics
from experiments.pasps.run import GROUPINGS, GroupingName, options_of
from experiments.pasps.scenarios import COMPLEX, LOG_LIKE, RAW, SMOOTH, SPIKES, Scenario, logs_from

PAPERS = ("pasps@predictor=ann-repo", *(f"pasps@predictor={name}" for name in ("fft", "lr", "rf", "basic")))
"""The five models of the paper. Its ANN is trained as the authors' program does it."""

OURS = tuple(f"pasps@predictor={name}" for name in ("fft-flat", "ann", "ewma", "ar", "auto", "conformal"))


TWO: tuple[GroupingName, ...] = ("storm", "load_aware")
"""Storm's shuffle beside load-aware grouping: enough where a run takes several seconds."""


@dataclass(frozen=True, eq=False)
class PaSpsTable:
    """One table: a scenario, its systems, and what the paper says of some of them."""

    title: str
    scenario: Scenario
    systems: tuple[str, ...]
    published: Mapping[str, Metrics]
    claims: Callable[[Mapping[str, Metrics]], Sequence[Claim]]
    figure: str = ""
    """The paper's figure of the same runs."""
    groupings: tuple[GroupingName, ...] = tuple(GROUPINGS)
    """Groupings under which the paper's systems are compared."""


def _models(*rows: tuple[float, float, float, float, float, float]) -> dict[str, Metrics]:
    return {system: Metrics(*row) for system, row in zip(PAPERS, rows, strict=True)}


_PA_SPS = Metrics(0.475, 0.071, 1.000, 355.490)

TABLE_2 = PaSpsTable(
    "Table 2: predictive models",
    SMOOTH,
    PAPERS + OURS,
    _models(
        (0.475, 0.070, 1.000, 355.490, 0.212, 0.277),
        (0.519, 0.189, 1.000, 1023.380, 0.249, 0.345),
        (0.533, 0.195, 1.000, 663.030, 0.090, 0.140),
        (0.538, 0.227, 0.996, 583.921, 0.140, 0.193),
        (0.560, 0.325, 1.000, 1295.490, 0.180, 0.287),
    ),
    model_claims,
    "Fig. 9",
)

TABLE_3 = PaSpsTable(
    "Table 3: a fixed number of replicas",
    SMOOTH,
    (PAPERS[0], "static@replicas=1", "static@replicas=4", "static@replicas=8"),
    {
        PAPERS[0]: _PA_SPS,
        "static@replicas=1": Metrics(0.875, 0.515, 0.331, 196962.950),
        "static@replicas=4": Metrics(0.500, 0.855, 0.987, 269.750),
        "static@replicas=8": Metrics(0.000, 0.000, 1.000, 153.510),
    },
    storm_claims,
)

TABLE_4 = PaSpsTable(
    "Table 4: other adaptive systems",
    SMOOTH,
    (PAPERS[0], "psps", "dabs", "dabs@downtime_s=60", "dabs@loses=false"),
    {
        PAPERS[0]: _PA_SPS,
        "psps": Metrics(0.561, 0.183, 0.998, 2098.910),
        "dabs": Metrics(0.396, 0.284, 0.828, 1391.280),
    },
    peer_claims,
    "Fig. 10",
)

TABLE_5 = PaSpsTable(
    "Table 5: a complex application",
    COMPLEX,
    (PAPERS[0], "pasps", "static@replicas=5"),
    {
        PAPERS[0]: Metrics(0.688, 0.031, 1.000, 209.270, cpu_percent=9.57),
        "static@replicas=5": Metrics(0.000, 0.000, 1.000, 31.990, cpu_percent=14.66),
    },
    complex_claims,
)

TABLE_6 = PaSpsTable(
    "Table 6: raw Twitter",
    RAW,
    PAPERS + OURS,
    _models(
        (0.395, 0.213, 1.000, 1044.510, 0.424, 0.466),
        (0.153, 0.579, 1.000, 12285.990, 0.903, 1.282),
        (0.421, 0.261, 0.988, 1366.680, 0.397, 0.391),
        (0.539, 0.381, 0.987, 2610.330, 0.253, 0.398),
        (0.513, 0.251, 1.000, 1049.490, 0.312, 0.407),
    ),
    raw_claims,
    groupings=TWO,
)

TABLE_7 = PaSpsTable(
    "Table 7: DNS",
    SPIKES,
    PAPERS + OURS,
    _models(
        (0.515, 0.381, 0.998, 446.840, 0.294, 0.872),
        (0.498, 0.337, 0.995, 397.140, 0.367, 1.674),
        (0.561, 0.350, 1.000, 464.010, 0.216, 0.714),
        (0.608, 0.436, 0.975, 545.910, 0.112, 0.583),
        (0.604, 0.511, 0.984, 487.600, 0.090, 0.738),
    ),
    dns_claims,
    "Fig. 13",
    groupings=TWO,
)

TABLE_8 = PaSpsTable(
    "Table 8: system logs",
    LOG_LIKE,
    PAPERS + OURS,
    _models(
        (0.603, 0.236, 0.987, 905.290, 0.355, 0.537),
        (0.503, 0.572, 1.000, 9184.060, 0.746, 1.191),
        (0.565, 0.252, 0.994, 1021.800, 0.412, 0.413),
        (0.661, 0.335, 0.998, 1673.560, 0.243, 0.394),
        (0.655, 0.306, 0.989, 855.970, 0.250, 0.449),
    ),
    log_claims,
    "Fig. 15",
    groupings=TWO,
)

EXPERIMENTS: Mapping[str, tuple[PaSpsTable, ...]] = {
    "pasps-models": (TABLE_2,),
    "pasps-storm": (TABLE_3,),
    "pasps-peers": (TABLE_4,),
    "pasps-complex": (TABLE_5,),
    "pasps-datasets": (TABLE_6, TABLE_7, TABLE_8),
}
"""Experiments by the name of their command."""


def chosen_tables(experiment: str, systems: Sequence[str], log_rates: Path | None) -> list[PaSpsTable]:
    """The tables of an experiment, with other rows or other log rates if these are given.

    What the paper says of its rows is not asked of others.
    """
    tables = list(EXPERIMENTS[experiment])
    if log_rates is not None:
        logs = logs_from(log_rates)
        tables = [replace(t, scenario=logs) if t.scenario.name == logs.name else t for t in tables]
    if systems:
        for system in systems:
            options_of(system)  # refuses what is none
        tables = [replace(t, systems=tuple(systems), claims=lambda _: ()) for t in tables]
    return tables
