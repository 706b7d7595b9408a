"""The measurer of DRS (Fu et al. 2017, section IV-A): from what engines report to what its model needs.

Sampling has two layers. Of every N_m tuples at an operator the engine records one; every T_m seconds, with every
observation, what has been recorded is pulled and smoothed. Mean and SCV of the recorded times stand for all tuples.

Not every engine records single tuples: those of a micro-batch have no service times of their own. There the demand
that the loop has learned gives the service rate, and what the pipeline file says of an operator stands for the SCV of
its services. The stamps of what the source has read since the last pull give the SCV of what arrives there.

Behind an operator that works in micro-batches, arrivals count as Poisson. Tuples come from there in lumps, all of a
micro-batch at once. An SCV of that would be about as large as a lump, for waits that the model of micro-batches has
already. And the stamps that tuples carry on Spark say when they came to the source, not when they came here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

from mead.arrays import FloatArray
from mead.policies.drs.smoothing import Smoothing
from mead.values import Observation, Operator, Pipeline, SampledTimes

POISSON_SCV = 1.0
"""SCV of the IATs at an operator where none is measured."""


@dataclass(frozen=True)
class Measured:
    """One operator, smoothed."""

    rate_per_s: float
    service_s: float
    """Service time of one tuple at one replica of full share."""
    arrival_scv: float
    service_scv: float


@dataclass(frozen=True)
class Measurements:
    """A pipeline, smoothed."""

    external_per_s: float
    operators: dict[str, Measured]
    """In the order of the pipeline."""
    response_s: float | None
    """From the arrival of an input until everything that came of it is done; None if nothing is yet."""


def recorded(times_s: FloatArray, every: int) -> SampledTimes:
    """One in every N_m of the times, the N_m-th first.

    >>> import numpy as np
    >>> recorded(np.array([1.0, 2.0, 3.0, 4.0, 5.0]), every=2)
    SampledTimes(count=2, sum_s=6.0, squares_s2=20.0)
    """
    chosen = times_s[every - 1 :: every]
    return SampledTimes(chosen.size, float(chosen.sum()), float(chosen @ chosen))


class Measurer:
    """Takes measurements from observations and smooths each of them.

    A number that an interval lacks is left out.
    """

    def __init__(self, smoothing: Callable[[], Smoothing], every: int = 1) -> None:
        self._smoothed: defaultdict[tuple[str, str], Smoothing] = defaultdict(smoothing)
        self._every = every

    def pull(self, observation: Observation, pipeline: Pipeline) -> Measurements | None:
        """Take in one observation; None as long as nothing has arrived."""
        sources = pipeline.sources
        arrived = max(observation.operators[name].arrived / pipeline.visits[name] for name in sources)
        external_per_s = self._add("", "rate", arrived / observation.interval_s)
        operators = {
            o.name: self._pull_operator(
                o, observation, is_source=o.name in sources, in_lumps=_comes_in_lumps(o.name, pipeline)
            )
            for o in pipeline.operators
        }
        response_s = self._add("", "response", _response_s(observation, pipeline))
        if not external_per_s:
            return None
        return Measurements(external_per_s, operators, response_s)

    def forget_responses(self) -> None:
        """Drop the response times so far, because another allocation is in force from now on."""
        self._smoothed.pop(("", "response"), None)

    def _pull_operator(
        self, operator: Operator, observation: Observation, *, is_source: bool, in_lumps: bool
    ) -> Measured:
        name, reading = operator.name, observation.operators[operator.name]
        # A replica of full share is what counts; what was served at a lower one took so much longer.
        slowed = observation.allocation[name].share / operator.shares[-1]
        sampled_s = reading.services.mean_s
        service_s = operator.demand_s / operator.shares[-1] if sampled_s is None else sampled_s * slowed
        arrival_scv = None if in_lumps else reading.iats.scv
        if arrival_scv is None and is_source:
            # Each inter-arrival time once: the last ones are the same for minutes, and smoothing would not smooth them.
            new = max(observation.iats_s.size - reading.completed, 0)
            arrival_scv = recorded(observation.iats_s[new:], self._every).scv
        rate_per_s = self._add(name, "rate", reading.arrived / observation.interval_s)
        smoothed_s = self._add(name, "service", service_s)
        return Measured(
            rate_per_s or 0.0,
            smoothed_s or service_s,
            self._known(name, "arrival_scv", arrival_scv, POISSON_SCV),
            self._known(name, "service_scv", reading.services.scv, operator.scv),
        )

    def _known(self, name: str, what: str, measured: float | None, declared: float) -> float:
        smoothed = self._add(name, what, measured)
        return declared if smoothed is None else smoothed

    def _add(self, name: str, what: str, measured: float | None) -> float | None:
        smoothed = self._smoothed[name, what]
        if measured is not None:
            smoothed.add(measured)
        return smoothed.value


def _comes_in_lumps(name: str, pipeline: Pipeline) -> bool:
    """Whether an operator is sent the tuples of a micro-batch all at once."""
    return any(pipeline.operator(edge.source).batches for edge in pipeline.edges if edge.target == name)


def _response_s(observation: Observation, pipeline: Pipeline) -> float | None:
    """Mean time until all of an input is done.

    Without that, the time on the slowest judged path, as far as tuples leave it.
    """
    if observation.inputs is not None:
        return observation.inputs.mean_s
    readings = [observation.paths[path] for path in pipeline.judged_paths]
    return max((reading.mean_s for reading in readings if reading.mean_s is not None), default=None)
