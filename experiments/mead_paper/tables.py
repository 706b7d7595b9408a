"""Tables I, II and III of Russo Russo et al., "MEAD" (2021), as published, and the cases that they consist of.

The published CPU percentages come from another machine and another application; only policies that ran in the same
simulator can be compared with each other. They stand beside ours for reference: MAP/G/1 of the paper is the policy
`mead`, and `map` is ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from experiments.workloads import Workload, required
from mead.values import Requirement


@dataclass(frozen=True)
class PaperCase:
    """One published pair of response time and CPU."""

    response_s: float
    cpu_percent: float


@dataclass(frozen=True, eq=False)
class Case:
    """One workload under one requirement, with the published numbers by policy."""

    workload: Workload
    requirement: Requirement
    published: Mapping[str, PaperCase] = field(default_factory=dict)


@dataclass(frozen=True)
class PaperTable:
    """The published numbers by trace, requirement and policy; policies are spelt as for ``--policy``."""

    title: str
    policies: tuple[str, ...]
    published: Mapping[str, Mapping[str, Mapping[str, PaperCase]]]
    others: tuple[str, ...]
    """The requirements for a trace that the paper does not have."""

    def cases(self, workloads: Sequence[Workload], requirements: Sequence[Requirement] = ()) -> list[Case]:
        """Every workload under the requirements of the paper, or under those that are given."""
        cases = []
        for workload in workloads:
            of_paper = self.published.get(workload.name, {})
            known = {required(text): numbers for text, numbers in of_paper.items()}
            wanted = requirements or tuple(known) or tuple(required(text) for text in self.others)
            cases += [Case(workload, requirement, known.get(requirement, {})) for requirement in wanted]
        return cases


def _rows(policies: Sequence[str], *rows: tuple[str, Sequence[tuple[float, float]]]) -> dict[str, dict[str, PaperCase]]:
    return {
        requirement: {policy: PaperCase(*pair) for policy, pair in zip(policies, pairs, strict=True)}
        for requirement, pairs in rows
    }


_MODELS = ("mg1", "kingman", "mead", "threshold")
_SYNT, _BC, _LM = (0.122, 49.0), (0.310, 49.0), (2.4, 48.0)
"""The threshold policy, whose numbers the paper gives in its text, does not depend on the requirement."""

EVERYONE = ("mg1", "kingman", "mead", "map", "threshold", "replay", "ds2", "adaptive", "adaptive@calm=true", "static")

TABLE_1 = PaperTable(
    "Table I: requirements on the mean",
    EVERYONE,
    {
        "synt": _rows(
            _MODELS,
            ("mean=0.1", [(0.254, 46.4), (0.177, 46.4), (0.056, 53.2), _SYNT]),
            ("mean=0.2", [(0.393, 46.4), (0.208, 46.4), (0.127, 50.2), _SYNT]),
            ("mean=0.3", [(0.609, 46.5), (0.263, 48.3), (0.142, 48.1), _SYNT]),
        ),
        "bc": _rows(
            _MODELS,
            ("mean=0.3", [(0.906, 46.9), (0.820, 47.0), (0.035, 55.8), _BC]),
            ("mean=0.5", [(2.101, 46.8), (1.194, 46.9), (0.158, 53.1), _BC]),
            ("mean=0.75", [(2.800, 46.9), (2.210, 46.8), (0.368, 50.3), _BC]),
        ),
        "lm": _rows(
            _MODELS,
            ("mean=1.5", [(7.499, 45.4), (6.077, 45.5), (0.751, 61.2), _LM]),
            ("mean=3", [(7.931, 45.0), (6.344, 45.4), (1.580, 56.9), _LM]),
            ("mean=5", [(9.382, 45.4), (6.311, 45.4), (2.698, 53.8), _LM]),
        ),
    },
    ("mean=0.3", "mean=0.5", "mean=0.75"),
)

TABLE_2 = PaperTable(
    "Table II: requirements on the 95th percentile",
    EVERYONE,
    {
        "synt": _rows(
            ("mg1", "mead"),
            ("p95=0.5", [(1.478, 46.6), (0.371, 60.0)]),
            ("p95=0.75", [(1.184, 46.6), (0.590, 49.7)]),
        ),
        "bc": _rows(
            ("mg1", "mead"),
            ("p95=0.5", [(3.871, 47.1), (0.195, 58.6)]),
            ("p95=1", [(3.711, 47.1), (0.274, 54.5)]),
        ),
        "lm": _rows(
            ("mg1", "mead"),
            ("p95=7", [(30.057, 45.5), (4.830, 60.2)]),
            ("p95=10", [(29.642, 45.7), (9.546, 55.9)]),
        ),
    },
    ("p95=0.5", "p95=1"),
)

_WINDOWS = tuple(f"mead@windows={size}" for size in (25_000, 50_000, 100_000))

TABLE_3 = PaperTable(
    "Table III: one window of inter-arrival times",
    (*_WINDOWS, *(name.replace("mead", "map") for name in _WINDOWS)),
    {
        "synt": _rows(_WINDOWS, ("mean=0.2", [(0.126, 49.9), (0.141, 48.7), (0.468, 47.6)])),
        "bc": _rows(_WINDOWS, ("mean=0.5", [(0.175, 53.0), (0.217, 51.2), (0.516, 49.8)])),
        "lm": _rows(_WINDOWS, ("mean=3", [(2.126, 54.2), (2.415, 52.3), (2.267, 53.0)])),
    },
    ("mean=0.5",),
)
