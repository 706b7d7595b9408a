"""Layout of the records of a simulation whose replicas have queues."""

from __future__ import annotations

from math import inf

import numpy as np

from mead.simulator.conditions import Conditions
from mead.simulator.grouping import NUMBERS
from mead.simulator.records import GROUP, OPERATOR, Records
from mead.simulator.routes import Routes
from mead.values import Allocation, Pipeline


def members_of(pipeline: Pipeline, allocation: Allocation, conditions: Conditions) -> list[list[int]]:
    """The records of every operator: its own, or one for each replica if these have queues of their own."""
    members, behind = [], len(pipeline.operators)
    for place, operator in enumerate(pipeline.operators):
        grouping = conditions.groupings.get(operator.name)
        if grouping is None:
            members.append([place])
            continue
        if operator.batches is not None:
            raise ValueError(
                f"operator {operator.name!r} works in micro-batches, which are split evenly over its replicas; "
                "a grouping is for tuples one by one"
            )
        replicas = max(operator.max_replicas, allocation[operator.name].replicas, len(grouping.speeds))
        members.append(list(range(behind, behind + replicas)))
        behind += replicas
    return members


def speeds_of(name: str, replicas: int, conditions: Conditions) -> list[float]:
    """The speed of every record of an operator, relative to that of its share."""
    grouping = conditions.groupings.get(name)
    given = list(grouping.speeds) if grouping else []
    return given + [1.0] * (replicas - len(given))


def group_records(pipeline: Pipeline, members: list[list[int]], conditions: Conditions) -> Records:
    """For every operator, how it hands out its tuples."""
    records = np.zeros(len(members), GROUP)
    for record, operator, of_operator in zip(records, pipeline.operators, members, strict=True):
        if grouping := conditions.groupings.get(operator.name):
            record["kind"] = NUMBERS[grouping.kind]
            record["first"], record["replicas"] = of_operator[0], len(of_operator)
            record["interval_s"] = grouping.interval_s
    return records


def operator_records(
    pipeline: Pipeline,
    routes: Routes,
    allocation: Allocation,
    members: list[list[int]],
    speeds: list[list[float]],
    conditions: Conditions,
) -> Records:
    """Operators, behind them replicas that have queues of their own, and at last the source."""
    count = len(pipeline.operators)
    replicas = sum(len(of_operator) for of_operator in members if of_operator[0] >= count)
    records = np.zeros(count + replicas + 1, OPERATOR)
    records["next_s"] = inf
    records["started_s"] = -1.0
    records["busy_tasks"] = 1.0
    places = [*range(count), -1]
    records["first_edge"][places], records["end_edge"][places] = routes.first_edges[:-1], routes.first_edges[1:]
    records["sink"][places] = routes.sinks
    for record, operator in zip(records[:count], pipeline.operators, strict=True):
        resources = allocation[operator.name]
        record["share"] = record["speed"] = resources.share
        record["servers"] = resources.replicas
        if batches := operator.batches:
            record["batched"] = 1
            record["overhead_s"] = batches.overhead_s
            record["trigger_s"] = batches.trigger_s or 0.0
            record["max_tuples"] = batches.max_tuples or np.iinfo(np.int64).max
    for place, (operator, of_operator) in enumerate(zip(pipeline.operators, members, strict=True)):
        if grouping := conditions.groupings.get(operator.name):
            records[of_operator] = records[place]
            records["servers"][of_operator] = 1
            records["speed"][of_operator] *= speeds[place]
            records["step"][of_operator] = operator.demand_s / records["share"][place] / grouping.interval_s
    return records
