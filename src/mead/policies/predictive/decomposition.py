"""A pipeline by a model that solves every operator on its own, with rate and variability of what reaches it."""

from __future__ import annotations

from types import MappingProxyType

from mead.policies.predictive.predictions import Asked
from mead.policies.predictive.stations import stations
from mead.queueing import PATH_SEPARATOR, Arrivals, NetworkSolution, OperatorModel, decomposed, independent_path
from mead.values import Allocation, Pipeline


def decomposed_pipeline(
    pipeline: Pipeline, allocation: Allocation, arrivals: Arrivals, model: OperatorModel
) -> NetworkSolution:
    """Response times by a model of single operators; the operators of a path are taken as independent."""
    operators = decomposed(stations(pipeline, allocation), arrivals, model)
    return NetworkSolution(
        MappingProxyType(operators),
        Asked(pipeline.paths, lambda path: independent_path([operators[name] for name in path.split(PATH_SEPARATOR)])),
    )
