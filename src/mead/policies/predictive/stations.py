"""The pipeline as a network of queues without loops, with one server per operator where a model needs that.

The models of bursty arrivals have neither several servers nor loops. Both are reduced to what they have:

- ``joint``: k replicas become one server that is k times as fast. There a tuple waits while another is served; at k
  replicas it waits only while all are busy. So the wait is on the safe side (with exponential services it is an upper
  bound: Erlang's C is at most the utilization). The service of a tuple takes k times as long at one replica, which the
  policies add.
- The visits of a tuple to an operator on a loop become one visit that is as long as all of them. Utilizations are
  right; the correlation between the visits is lost.
"""

from __future__ import annotations

from types import MappingProxyType

import numpy as np

from mead.policies.predictive.predictions import LazySolutions
from mead.queueing import (
    PATH_SEPARATOR,
    Arrivals,
    Edge,
    Network,
    NetworkSolution,
    Operator,
    OperatorModel,
    independent_path,
    solve_each,
)
from mead.values import Allocation, Pipeline


def stations(pipeline: Pipeline, allocation: Allocation, *, joint: bool = False) -> Network:
    """The queueing network of an allocation.

    >>> from mead.values.allocation import Resources
    >>> from mead.values.pipeline import Operator
    >>> tasks = [Operator("fetch", demand_s=0.001), Operator("store", demand_s=0.002)]
    >>> loop = Pipeline("retry", tasks, [Edge("fetch", "store", 0.8), Edge("fetch", "fetch", 0.2)])
    >>> network = stations(loop, Allocation.of(fetch=Resources(1.0), store=Resources(1.0)))
    >>> network.operator("fetch").service.mean_s, network.edges[0].selectivity
    (0.00125, 1.0)
    """
    plain = pipeline.network(allocation)
    passes, edges = _unroll(pipeline, plain)
    operators = []
    for operator in plain.operators:
        servers = operator.servers if joint else 1
        service = operator.service.scaled(passes[operator.name] / servers)
        operators.append(Operator(operator.name, service, 1 if joint else operator.servers))
    return Network(operators, edges)


def solve_operators(
    pipeline: Pipeline, allocation: Allocation, arrivals: Arrivals, model: OperatorModel
) -> NetworkSolution:
    """Response times by a model of single operators, as if the operators of a path were independent."""
    operators = solve_each(stations(pipeline, allocation), arrivals, model)
    return NetworkSolution(
        MappingProxyType(operators),
        LazySolutions(
            pipeline.paths, lambda path: independent_path([operators[name] for name in path.split(PATH_SEPARATOR)])
        ),
    )


def _unroll(pipeline: Pipeline, plain: Network) -> tuple[dict[str, float], list[Edge]]:
    """Visits of a tuple to every operator that it reaches, and the edges without loops."""
    if not pipeline.returns:
        return dict.fromkeys(plain.order, 1.0), list(plain.edges)
    names = [operator.name for operator in pipeline.operators]
    reaches = np.linalg.matrix_power(np.eye(len(names)) + (pipeline.gains > 0), len(names)) > 0
    on_loop = {
        name: any(pipeline.gains[i, j] > 0 and reaches[j, i] for j in range(len(names))) for i, name in enumerate(names)
    }
    flow: dict[str, float] = {}
    passes: dict[str, float] = {}
    edges: list[Edge] = []
    for name in plain.order:
        into = plain.into(name)
        if into and not on_loop[name]:
            # Behind a loop every tuple comes once, as many as the loop has let go.
            into = tuple(Edge(e.source, e.target, e.selectivity * passes[e.source]) for e in into)
        edges += into
        flow[name] = sum(flow[e.source] * e.selectivity for e in into) if into else 1.0
        passes[name] = pipeline.visits[name] / flow[name]
    return passes, edges
