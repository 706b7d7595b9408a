"""Baselines that solve every operator on its own.

They know the rate and variability of the arrivals, and no bursts.

Streams are passed on by two moments (QNA; Whitt, "The queueing network analyzer", 1983), and the operators of a path
are taken as independent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import sqrt
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from mead.queueing.network.graph import InvalidNetworkError, Network, Operator
from mead.queueing.network.sojourn import Part, Response, Sojourn
from mead.queueing.queues.gigk import gigk
from mead.queueing.queues.kingman import kingman
from mead.queueing.queues.map_ph_1 import MapPh1Response
from mead.queueing.queues.mg1 import m_ph_1
from mead.queueing.queues.mmk import mmk
from mead.queueing.queues.response import QueueSolution, Unstable
from mead.queueing.queues.wait_and_service import WaitAndService

LEAST_SERVICE_SCV = 0.2
"""Service more regular than this leaves no more regular departures behind it (Whitt 1983, eq. 39)."""


@dataclass(frozen=True)
class Arrivals:
    """A stream as a baseline sees it: rate and squared coefficient of variation of the IATs.

    >>> Arrivals(100.0, 1.0).through(0.5)
    Arrivals(rate_per_s=50.0, scv=1.0)
    """

    rate_per_s: float
    scv: float

    def through(self, selectivity: float) -> Arrivals:
        """The stream after an edge.

        A filter keeps tuples at random (eq. 36); a flat map sends them in batches.
        """
        rate = self.rate_per_s * selectivity
        if selectivity <= 1:
            return Arrivals(rate, selectivity * self.scv + 1 - selectivity)
        # In a batch of B all IATs but one are zero, so E[X^2] / E[X]^2 grows by the factor B.
        return Arrivals(rate, selectivity * (self.scv + 1) - 1)


OperatorModel: TypeAlias = Callable[[Arrivals, Operator], QueueSolution]
"""The response time of one operator, from its arrivals and its service."""


def _mg1(arrivals: Arrivals, operator: Operator) -> QueueSolution:
    return m_ph_1(arrivals.rate_per_s, _single(operator, "mg1").service)


def _kingman(arrivals: Arrivals, operator: Operator) -> QueueSolution:
    service = _single(operator, "kingman").service
    return kingman(arrivals.rate_per_s, arrivals.scv, service.mean_s, service.scv)


def _mmk(arrivals: Arrivals, operator: Operator) -> QueueSolution:
    return mmk(arrivals.rate_per_s, operator.service.mean_s, operator.servers)


def _gigk(arrivals: Arrivals, operator: Operator) -> QueueSolution:
    service = operator.service
    return gigk(arrivals.rate_per_s, arrivals.scv, service.mean_s, service.scv, operator.servers)


def _single(operator: Operator, model: str) -> Operator:
    if operator.servers != 1:
        raise InvalidNetworkError(
            f"the model {model!r} has one server per operator, and {operator.name!r} has {operator.servers}; "
            f"use 'mmk' or 'gigk' for several"
        )
    return operator


MODELS: Mapping[str, OperatorModel] = MappingProxyType({"mg1": _mg1, "kingman": _kingman, "mmk": _mmk, "gigk": _gigk})


def solve_each(network: Network, arrivals: Arrivals, model: OperatorModel) -> dict[str, QueueSolution]:
    """The response time of every operator, each solved by ``model`` on its own."""
    departing: dict[str, Arrivals] = {}
    solutions: dict[str, QueueSolution] = {}
    for operator in (network.operator(name) for name in network.order):
        inputs = [departing[edge.source].through(edge.selectivity) for edge in network.into(operator.name)]
        here = merged(inputs, operator) if inputs else arrivals
        solutions[operator.name] = model(here, operator)
        departing[operator.name] = departed(here, operator)
    return solutions


def departed(arrivals: Arrivals, operator: Operator) -> Arrivals:
    """The departures of an operator (Whitt 1983, eq. 39).

    An overloaded operator sends one service after the other.

    >>> from mead.queueing.ph import PH
    >>> departed(Arrivals(0.5, 1.0), Operator("parser", PH.exponential(1.0)))
    Arrivals(rate_per_s=0.5, scv=1.0)
    """
    service, servers = operator.service, operator.servers
    load = arrivals.rate_per_s * service.mean_s / servers
    busy = min(load, 1.0)
    regular = max(service.scv, LEAST_SERVICE_SCV) - 1
    scv = 1 + (1 - busy**2) * (arrivals.scv - 1) + busy**2 * regular / sqrt(servers)
    return Arrivals(arrivals.rate_per_s / max(load, 1.0), scv)


def merged(streams: list[Arrivals], operator: Operator) -> Arrivals:
    """Several streams joined at one operator (Whitt 1983, eq. 33).

    The SCV lies between their mean SCV and that of a Poisson process.
    """
    rate = sum(stream.rate_per_s for stream in streams)
    shares = [stream.rate_per_s / rate for stream in streams]
    mean_scv = sum(share * stream.scv for share, stream in zip(shares, streams, strict=True))
    load = min(rate * operator.service.mean_s / operator.servers, 1.0)
    equivalent = 1 / sum(share**2 for share in shares)
    weight = 1 / (1 + 4 * (1 - load) ** 2 * (equivalent - 1))
    return Arrivals(rate, weight * mean_scv + 1 - weight)


def independent_path(solutions: list[QueueSolution]) -> QueueSolution:
    """The response time of a path whose operators do not depend on each other."""
    sojourns: list[Sojourn] = []
    for solution in solutions:
        if isinstance(solution, MapPh1Response):
            tail, unit_s = solution.response, solution.service.mean_s
            sojourns.append(Sojourn((Part(tail.b[0], tail.K[0] / unit_s, tail.e[0][:, None], np.ones(1)),)))
        elif isinstance(solution, WaitAndService):
            sojourns.append(Sojourn((Part.of_service(solution.distribution),)))
    busiest = max(solution.utilization for solution in solutions)
    return Response(busiest, tuple(sojourns)) if len(sojourns) == len(solutions) else Unstable(busiest)
