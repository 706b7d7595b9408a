"""Where a tuple goes next, and on which path it is.

Two paths can meet in an operator and part again, so the operator alone does not tell the path. A tuple therefore
carries its **trail**: the operators from source to where it is, as the number of a known beginning of a path. An edge
that leads back cuts the trail to where it leads; a tuple sent back to an operator that it did not come through goes on
as if it had come there by the first path that does.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np

from mead.arrays import IntArray
from mead.queueing import PATH_SEPARATOR, Edge
from mead.simulator.records import EDGE, Records
from mead.values import Pipeline

SOURCE = ""
"""Where the arrivals come from, under a name that no operator can have."""


@dataclass(frozen=True, eq=False)
class Routes:
    """The graph of a pipeline in arrays, operators and trails by number.

    The source comes behind the last operator.
    """

    edges: tuple[tuple[str, str], ...]
    """All edges, those out of one operator side by side."""
    edge_records: Records
    first_edges: IntArray
    """The edges of an operator are ``first_edges[i]`` to ``first_edges[i + 1]``, the second excluded."""
    sinks: IntArray
    """1 for an operator from which every edge leads back."""
    ways: IntArray
    """``ways[trail, n]``: the trail of a tuple that takes the n-th edge out of where the trail ends."""
    paths: IntArray
    """Per trail, which path it is; -1 if it ends before a sink. The last trail is that of a tuple at the source."""
    judged: IntArray
    """Per trail, 1 if it leads to the end of a judged path. The tuples of an input on other trails need not be done."""
    fanout: int
    """Tuples that one event can bring into being, at most."""

    @classmethod
    def of(cls, pipeline: Pipeline) -> Routes:
        """Number the operators, edges and trails of a pipeline."""
        judged = [tuple(path.split(PATH_SEPARATOR)) for path in pipeline.judged_paths]
        known = [tuple(path.split(PATH_SEPARATOR)) for path in pipeline.paths]
        trails = [*dict.fromkeys(path[: n + 1] for path in known for n in range(len(path))), ()]
        number = {trail: i for i, trail in enumerate(trails)}
        place = {operator.name: i for i, operator in enumerate(pipeline.operators)} | {SOURCE: len(pipeline.operators)}
        out = [[e for e in pipeline.edges if e.source == o.name] for o in pipeline.operators]
        out.append([Edge(SOURCE, trail[0]) for trail in trails if len(trail) == 1])
        ways = np.full((len(trails), max(map(len, out))), -1, dtype=np.int64)
        for i, trail in enumerate(trails):
            for n, edge in enumerate(out[place[trail[-1] if trail else SOURCE]]):
                ways[i, n] = number[_after(trail, edge, trails, returns=edge in pipeline.returns)]
        edges = [edge for one in out for edge in one]
        ends = {trail: i for i, trail in enumerate(known)}
        return cls(
            tuple((edge.source, edge.target) for edge in edges),
            _records(edges, place),
            np.cumsum([0, *map(len, out)]),
            np.array([int(all(edge in pipeline.returns for edge in one)) for one in out]),
            ways,
            np.array([ends.get(trail, -1) for trail in trails]),
            np.array([int(any(path[: len(trail)] == trail for path in judged)) for trail in trails]),
            max(sum(ceil(edge.selectivity) for edge in one) for one in out),
        )


def _after(trail: tuple[str, ...], edge: Edge, trails: list[tuple[str, ...]], *, returns: bool) -> tuple[str, ...]:
    if not returns:
        return (*trail, edge.target)
    if edge.target in trail:
        return trail[: trail.index(edge.target) + 1]
    return next(known for known in trails if known[-1] == edge.target)


def _records(edges: list[Edge], place: dict[str, int]) -> Records:
    records = np.zeros(len(edges), EDGE)
    for record, edge in zip(records, edges, strict=True):
        record["target"] = place[edge.target]
        record["whole"] = int(edge.selectivity)
        record["chance"] = edge.selectivity - int(edge.selectivity)
    return records
