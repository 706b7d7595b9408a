"""How far the predictions of a policy can be trusted, learned from what came of its decisions.

A policy that plans by a model is as good as the model. Whoever is told after every round how the last prediction came
out need not believe it for ever: if response times were three times as long as predicted, a bound of 0.3 s is planned
for as if it were 0.1 s. That is no repair of the model. It is the caution of somebody who has been wrong lately, it has
an end, and it goes as predictions come true again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import exp, log

from mead.values import Allocation, Observation, Pipeline, Resources, times_predicted

MOST = 4.0
"""Bounds are never taken more times tighter than this, however wrong a prediction was."""

TOLERATED = 1.25
"""Predictions that are exceeded by less need no caution: models are rough."""

LEARNED, FORGOTTEN = 0.5, 0.25
"""The weight of one comparison that is worse than believed, and of one that is better: trust is lost faster than won.

Seven good rounds bring the highest caution below what is tolerated: 4 ** 0.75 ** 7 = 1.20.
"""


@dataclass
class Trust:
    """By path, how far the predictions of one policy have been exceeded.

    >>> from mead.values.pipeline import Operator
    >>> from mead.values.requirement import Requirement
    >>> trust, required = Trust(), Requirement("a", bound_s=0.3)
    >>> pipeline = Pipeline("one", [Operator("a", 0.001)], requirements=[required])
    >>> trust.compare("a", 16.0)
    >>> trust.caution("a"), trust.tighten(pipeline).requirements[0].bound_s
    (2.0, 0.15)
    >>> for _ in range(5):
    ...     trust.compare("a", 0.9)
    >>> trust.caution("a"), trust.tighten(pipeline) is pipeline
    (1.0, True)
    """

    _exceeded: dict[str, float] = field(default_factory=dict, repr=False)
    """Logarithms: to be wrong twofold twice is as bad as to be wrong fourfold once."""
    _expected: dict[Allocation, Mapping[str, float | None]] = field(default_factory=dict, repr=False)

    def expect(self, mean_s: Mapping[Allocation, Mapping[str, float | None]]) -> None:
        """Remember what was predicted, by path, for what is ordered and for what is in force: advice may be ignored."""
        self._expected = dict(mean_s)

    def learn(self, observation: Observation) -> None:
        """Compare the last prediction with what was observed, if it was for the allocation in force."""
        for path, predicted_s in self._expected.get(observation.allocation, {}).items():
            seen = observation.paths.get(path)
            times = times_predicted(predicted_s, None if seen is None else seen.mean_s)
            if times is not None:
                self.compare(path, times)

    def compare(self, path: str, times: float) -> None:
        """Response times were ``times`` those predicted. To be better than predicted is no reason to be bold."""
        believed, seen = self._exceeded.get(path, 0.0), log(min(max(times, 1.0), MOST))
        weight = LEARNED if seen > believed else FORGOTTEN
        self._exceeded[path] = believed + weight * (seen - believed)

    def caution(self, path: str) -> float:
        """How many times tighter its bounds are taken: 1 for a trusted model, ``MOST`` at most."""
        times = exp(self._exceeded.get(path, 0.0))
        return min(times, MOST) if times > TOLERATED else 1.0

    def tighten(self, pipeline: Pipeline) -> Pipeline:
        """The pipeline with the bounds to plan for; the same if all predictions are trusted."""
        cautions = {r: self.caution(r.path) for r in pipeline.requirements}
        if all(caution == 1 for caution in cautions.values()):
            return pipeline
        requirements = [replace(r, bound_s=r.bound_s / caution) for r, caution in cautions.items()]
        return pipeline.with_requirements(requirements)


def maximum(one: Allocation, other: Allocation) -> Allocation:
    """For every operator the higher share and the more replicas of two allocations.

    >>> one, other = (Allocation.of(a=Resources(*given)) for given in ((0.4, 3), (0.7, 1)))
    >>> str(maximum(one, other))
    'a 3 x 0.7'
    """
    return Allocation.of(
        {
            name: Resources(max(given.share, other[name].share), max(given.replicas, other[name].replicas))
            for name, given in one.items()
        }
    )
