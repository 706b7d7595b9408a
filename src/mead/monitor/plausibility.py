"""Checks for readings that cannot be true.

They count as missing: the loop decides nothing on them and learns nothing from them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import inf

from mead.arrays import FloatArray
from mead.values import Observation, Pipeline


def implausible(observation: Observation, pipeline: Pipeline, after_s: float) -> str:
    """The first fault of this observation, which must be of a later time than ``after_s``; "" if it has none.

    Unusual readings pass: those of an engine that works in batches can be of the interval before.
    """
    return next(_objections(observation, pipeline, after_s), "")


def _objections(observation: Observation, pipeline: Pipeline, after_s: float) -> Iterator[str]:
    if not after_s < observation.time_s < inf:
        yield f"the readings are of {observation.time_s:g} s, and there are some of {after_s:g} s already"
    if not 0 < observation.interval_s < inf:
        yield f"the readings are said to be of an interval of {observation.interval_s:g} s"
    if not 0 <= observation.age_s < inf:
        yield f"the readings are said to be {observation.age_s:g} s old"
    operators = [operator.name for operator in pipeline.operators]
    for names, readings, kind in (
        (operators, observation.allocation, "allocation"),
        (operators, observation.operators, "reading"),
        (pipeline.paths, observation.paths, "reading"),
    ):
        yield from (f"there is no {kind} of {name}" for name in names if name not in readings)
    for name, resources in observation.allocation.items():
        yield from _impossible(name, {"share": resources.share, "replicas": resources.replicas})
    for name, operator in observation.operators.items():
        counts = {"arrived": operator.arrived, "completed": operator.completed, "backlog": operator.backlog}
        times = {"busy_s": operator.busy_s, "serving_s": operator.serving_s, "throttled_s": operator.throttled_s}
        yield from _impossible(name, counts | {"batches": operator.batches} | times)
    for name, path in observation.paths.items():
        yield from _impossible(name, {"completed": path.completed, "late": path.late, "response": path.response_sum_s})
        if path.late > path.completed:
            yield f"of {path.completed} tuples on {name}, {path.late} are said to be late"
    for name, values in (("IATs", observation.iats_s), ("counts", observation.counts)):
        yield from _impossible("the source", _extremes(name, values))


def _impossible(place: str, values: Mapping[str, float]) -> Iterator[str]:
    return (f"{name} of {place} is said to be {value:g}" for name, value in values.items() if not 0 <= value < inf)


def _extremes(name: str, values: FloatArray) -> dict[str, float]:
    """The smallest and the largest value; NaN anywhere makes both NaN."""
    return (
        {f"least of the {name}": float(values.min()), f"most of the {name}": float(values.max())} if values.size else {}
    )
