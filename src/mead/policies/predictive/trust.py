"""Tighten latency bounds after a policy predicted too optimistically.

Each round compares the observed response time with the predicted one. If it was three times as long, the policy plans
for a third of the bound until its predictions are right again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import exp, log

from mead.values import Allocation, Observation, Pipeline, Resources, times_predicted

MOST = 4.0
"""Bounds are tightened by this factor at most."""

TOLERATED = 1.25
"""Predictions that are exceeded by a smaller factor need no caution: models are rough."""

LEARNED, FORGOTTEN = 0.5, 0.25
"""The weights of a comparison that is worse than believed, and of a better one: trust is lost faster than won.

Seven good rounds bring the highest caution below what is tolerated: 4 ** 0.75 ** 7 = 1.20.
"""


@dataclass
class Trust:
    """By path, the factor by which the predictions of one policy were exceeded.

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
    """Logarithms: two errors of a factor of two are as bad as one of four."""
    _expected: dict[Allocation, Mapping[str, float | None]] = field(default_factory=dict, repr=False)

    def expect(self, mean_s: Mapping[Allocation, Mapping[str, float | None]]) -> None:
        """Remember the predictions by path, for the order and for the allocation in force: advice may be ignored."""
        self._expected = dict(mean_s)

    def learn(self, observation: Observation) -> None:
        """Compare the last prediction with the observation, if it was for the allocation in force."""
        for path, predicted_s in self._expected.get(observation.allocation, {}).items():
            seen = observation.paths.get(path)
            times = times_predicted(predicted_s, None if seen is None else seen.mean_s)
            if times is not None:
                self.compare(path, times)

    def compare(self, path: str, times: float) -> None:
        """Learn that response times were ``times`` those predicted. Shorter ones do not loosen a bound."""
        believed, seen = self._exceeded.get(path, 0.0), log(min(max(times, 1.0), MOST))
        weight = LEARNED if seen > believed else FORGOTTEN
        self._exceeded[path] = believed + weight * (seen - believed)

    def caution(self, path: str) -> float:
        """The factor by which its bounds are tightened: 1 for a trusted model, ``MOST`` at most."""
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
