"""Arrivals, and the log-analysis pipeline of the MEAD paper that they drive.

The pipeline is ``parser -> {counter, matcher}``. The matcher is the bottleneck and, unless all operators are free, the
only one whose share is chosen; parser and counter then have a share of 0.40. A matcher demand of 1.5 ms reproduces the
paper's M/G/1 and Kingman rows on the Bellcore trace, so the paper's three traces have that demand. Any other trace gets
the demand that loads a full share to one half, unless a demand is given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mead.queueing import Edge
from mead.values import DEFAULT_SHARES, Batches, Operator, Pipeline, Requirement
from mead.workload import Generator, LiveMapsStandIn, Markovian, Poisson, RandomWalk, Steps, Synt, Trace

PATH, OTHER_PATH = "parser>matcher", "parser>counter"
DURATION_S = 1800.0
"""Half an hour, as in the paper."""

DEMAND_S = 0.0015
"""CPU seconds per tuple of the matcher: the calibration to the paper's Bellcore rows."""

USUAL_LOAD = 0.5
"""Load of a full share, for a trace without a given demand."""

HELD_SHARE = 0.40
"""The share of parser and counter."""

PARSER_PART = 1 / 15
"""Demand of parser and counter over that of the matcher: 0.1 ms beside 1.5 ms."""

MISSING = "is not part of this program; give it by --trace bc=FILE"
"""Message about a missing Bellcore trace."""


@dataclass(frozen=True, eq=False)
class Workload:
    """Arrivals and the demand that they bring."""

    name: str
    """Short, for options and files: ``bc``."""
    title: str
    demand_s: float
    arrivals: Generator | Trace
    batches: Batches | None = None
    """The micro-batches of every operator; None if operators take one tuple at a time."""
    free: bool = False
    """Whether the shares of all operators are chosen, and both paths have the requirement, as in the paper."""
    others: float = PARSER_PART
    """Demand of parser and counter over that of the matcher."""

    def trace(self, seed: int) -> Trace:
        """The arrivals for a seed. A recorded trace is the same for all seeds."""
        if isinstance(self.arrivals, Trace):
            return self.arrivals
        return self.arrivals.generate(np.random.default_rng(seed))

    def pipeline(self, requirement: Requirement) -> Pipeline:
        """The pipeline under that requirement."""
        light_s = self.demand_s * self.others
        shares = DEFAULT_SHARES if self.free else (HELD_SHARE,)
        other = [replace(requirement, path=OTHER_PATH)] if self.free else []
        return Pipeline(
            "log-analysis",
            [
                Operator("parser", light_s, shares=shares, batches=self.batches),
                Operator("counter", light_s, shares=shares, batches=self.batches),
                Operator("matcher", self.demand_s, batches=self.batches),
            ],
            [Edge("parser", "counter"), Edge("parser", "matcher")],
            [requirement, *other],
        )


def required(text: str) -> Requirement:
    """A requirement on the path to the matcher.

    >>> required("p95=0.5").percent, required("mean=.3").bound_s
    (95.0, 0.3)
    """
    statistic, equals, bound = text.partition("=")
    try:
        if not equals or statistic[:1] not in {"m", "p"} or (statistic[0] == "m" and statistic != "mean"):
            raise ValueError(f"{statistic!r} is neither mean nor a percentile such as p95")
        percent = None if statistic == "mean" else float(statistic[1:])
        return Requirement(PATH, bound_s=float(bound), percent=percent)
    except ValueError as error:
        raise ValueError(f"requirement {text!r}: {error}; write it as mean=0.3 or p95=0.5, in seconds") from error


def synt(duration_s: float = DURATION_S) -> Workload:
    """The paper's synthetic trace, made from our own MAPs."""
    return Workload("synt", "SYNT (generated, our own MAPs)", DEMAND_S, Synt(duration_s=duration_s))


def live_maps(duration_s: float = DURATION_S) -> Workload:
    """A stand-in for the paper's most correlated trace."""
    return Workload("lm", "LM (synthetic stand-in for Live Maps)", DEMAND_S, LiveMapsStandIn(duration_s=duration_s))


def recorded(name: str, trace: Trace, duration_s: float = DURATION_S, demand_s: float | None = None) -> Workload:
    """The first part of a trace. The name ``bc`` is the Bellcore trace, with the paper's demand."""
    part = trace.between(0.0, min(duration_s, trace.duration_s))
    if demand_s is None:
        demand_s = DEMAND_S if name == "bc" else USUAL_LOAD / part.rate_per_s
    title = "BC (Bellcore BC-pAug89)" if name == "bc" else f"{name} (as given)"
    return Workload(name, title, demand_s, part)


def chosen(
    files: Mapping[str, Trace | None], only: Sequence[str], duration_s: float, demand_s: float | None = None
) -> tuple[list[Workload], str]:
    """The workloads to run, and a note about a missing one.

    These are the workloads of the paper, with the Bellcore trace if it is given. If a name is given that the paper does
    not have, only the given workloads run. Names without a trace are generated.
    """
    paper = {"synt": synt(duration_s), "bc": None, "lm": live_maps(duration_s)}
    given = {
        name: paper[name] if trace is None else recorded(name, trace, duration_s, demand_s)
        for name, trace in files.items()
    }
    known = paper | given if set(given) <= {"bc"} else given
    for name in only:
        if name not in known:
            raise ValueError(f"there is no trace {name!r} to run; there are {', '.join(known)}")
        if known[name] is None:
            raise ValueError(f"the Bellcore trace {MISSING}")
    wanted = {name: workload for name, workload in known.items() if name in only or not only}
    workloads = [
        workload if demand_s is None else replace(workload, demand_s=demand_s)
        for workload in wanted.values()
        if workload is not None
    ]
    return workloads, "" if len(workloads) == len(wanted) else f"the Bellcore trace is skipped: it {MISSING}"


def generated(duration_s: float = DURATION_S) -> tuple[Workload, ...]:
    """Other kinds of arrivals, unlike those of the paper."""
    minutes = 30
    hill = 325.0 + 175.0 * np.sin(np.linspace(-np.pi / 2, 3 * np.pi / 2, minutes))
    crowd = [560.0 if 10 <= minute < 14 else 250.0 for minute in range(minutes)]
    kinds: dict[str, tuple[str, Generator]] = {
        "poisson": ("Poisson, 328/s", Poisson(rate_per_s=328.0, duration_s=duration_s)),
        "poisson-low": ("Poisson, 200/s", Poisson(rate_per_s=200.0, duration_s=duration_s)),
        "bursts": (
            "MAP, 320/s, index of dispersion 200",
            Markovian(rate_per_s=320.0, idc=200.0, duration_s=duration_s),
        ),
        "crowd": ("flash crowd, 250/s and 560/s", Steps(rates_per_s=tuple(crowd), step_s=duration_s / minutes)),
        "hill": ("slow rise and fall, 150 to 500/s", Steps(rates_per_s=tuple(hill), step_s=duration_s / minutes)),
        "walk": (
            "random walk of the rate, 150 to 550/s",
            RandomWalk(
                rate_per_s=300.0,
                sigma=0.2,
                phase_s=10.0,
                lowest_per_s=150.0,
                highest_per_s=550.0,
                duration_s=duration_s,
            ),
        ),
    }
    return tuple(Workload(name, title, DEMAND_S, generator) for name, (title, generator) in kinds.items())
