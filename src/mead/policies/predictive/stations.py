"""The pipeline as the queueing models see it: without loops, and, if they ask for it, with one server per operator.

The models that know bursts have neither several servers nor tuples that come back. Both are brought to what they have:

- ``joint``: k replicas become one server that is k times as fast. At that one a tuple waits while another is served; at
  k replicas it waits only while all are busy. So the wait that is found is on the safe side (with exponential services
  it is an upper bound: Erlang's C is at most the utilization). A tuple's own service takes k times as long at one
  replica, which the policies add. Without ``joint``, replicas stay servers of their own.
- Visits of a tuple to an operator on a loop become one visit that is as long as all of them together. Utilizations are
  right; what the visits of one tuple have in common, and that others come between them, is lost.
"""

from __future__ import annotations

import numpy as np

from mead.queueing import Edge, Network, Operator
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
    passes, edges = _unrolled(pipeline, plain)
    operators = []
    for operator in plain.operators:
        servers = operator.servers if joint else 1
        service = operator.service.scaled(passes[operator.name] / servers)
        operators.append(Operator(operator.name, service, 1 if joint else operator.servers))
    return Network(operators, edges)


def _unrolled(pipeline: Pipeline, plain: Network) -> tuple[dict[str, float], list[Edge]]:
    """How often a tuple that gets to an operator is served there, and the edges of the loops laid out straight."""
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
