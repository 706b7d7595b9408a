"""The default fitter: MAPs calibrated on the queue that they are to predict.

Moments and correlations say little about how long a burst stays above capacity, and the response time is about nothing
else. So the parameters of a small family of MAPs (``bursts``) are chosen such that MAP/Erlang-2/1 has the mean and
95th percentile of the response that the window itself has (``targets``), at eight utilizations.
``benchmarks/bench_fitting.py`` measures the error at utilizations in between, and against other fitters.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mead.arrays import FloatArray
from mead.queueing.fitting.bursts import HIGHEST, LOWEST, BurstFamily
from mead.queueing.fitting.least_squares import levenberg_marquardt
from mead.queueing.fitting.renewal import is_regular, regular_model
from mead.queueing.fitting.targets import REFERENCE_SERVICE, QueueTargets
from mead.queueing.fitting.window import FittedMAP, WindowFit, prepare
from mead.queueing.map import MAP
from mead.queueing.markov import stationary_rows
from mead.queueing.queues.age_process import age_process

FAMILIES = tuple(BurstFamily(*s) for s in ((1, 1), (3, 3), (2, 4), (4, 2), (2, 2), (1, 2), (2, 1), (4, 4)))
"""In the order in which they are tried, each from where the one before ended. The first is the quickest to search;
the second predicts best on most windows."""

LEAST_FAMILIES = 2

TWO_SCALES = 2000
"""With fewer IATs than this only one time scale can be told from noise."""

ITERATIONS, WARM_ITERATIONS = 40, 3
"""From a neighbouring window's parameters, three steps end where forty would."""


@dataclass(frozen=True)
class Weights:
    """Weight of each kind of residual; residuals are differences of logarithms."""

    response: float
    idc: float
    moments: float
    stay: float
    """How strongly the parameters are held where the search began."""


SHAPE = Weights(response=0.0, idc=1.0, moments=0.5, stay=0.02)
"""First from statistics alone, which costs next to nothing and ends near the right time scales."""
QUEUE = Weights(response=1.0, idc=0.1, moments=0.1, stay=0.03)


def fit_calibrated(iats: FloatArray, *, best: int = 5, seed: int = 0, previous: WindowFit | None = None) -> WindowFit:
    """Fit MAPs to a window of IATs in seconds, best first.

    The score is the root mean square of the log residuals.

    ``previous``, the fit of a window shortly before, saves the search for the right time scales. The seed draws the
    service times of the replay; nothing else is random.

    >>> bursty = MAP.two_state(rate_per_s=100.0, idc=50.0)
    >>> fit = fit_calibrated(bursty.sample(20_000, np.random.default_rng(1)), best=2)
    >>> [(model.family, model.map.states) for model in fit.models]
    [('bursts(3,3)', 18), ('bursts(1,1)', 6)]
    """
    if best < 1:
        raise ValueError(f"best must be at least 1; got {best}")
    window = prepare(iats)
    if isinstance(window, WindowFit):
        return window
    if is_regular(window.unit):
        return window.fit([regular_model(window.unit)], "the arrivals are more regular than Poisson: a renewal model")
    targets = QueueTargets.of(window.unit, seed)
    known = {model.family: np.array(model.parameters) for model in previous.models} if previous else {}
    families = _families(window.unit.size, best)
    if known.keys() & {str(family) for family in families}:
        families = tuple(family for family in families if str(family) in known)
        anchor = known[str(families[0])]
    else:
        anchor = families[0].start(window.unit.size)
        anchor, _ = _search(families[0], targets, SHAPE, anchor, anchor, ITERATIONS)
    models: list[FittedMAP] = []
    point = anchor
    for family in families:
        start, steps = known.get(str(family), point), WARM_ITERATIONS if str(family) in known else ITERATIONS
        point, score = _search(family, targets, QUEUE, start, anchor, steps)
        D0, D1 = family.matrices(point[None])
        models.append(FittedMAP(MAP(D0[0], D1[0]).with_rate(1.0), score, str(family), tuple(point.tolist())))
    return window.fit(sorted(models, key=lambda model: model.score)[:best])


def _families(size: int, best: int) -> tuple[BurstFamily, ...]:
    return FAMILIES[: max(best, LEAST_FAMILIES)] if size >= TWO_SCALES else (BurstFamily(0, 0),)


def _search(
    family: BurstFamily, targets: QueueTargets, weights: Weights, start: FloatArray, anchor: FloatArray, steps: int
) -> tuple[FloatArray, float]:
    """Search the least residuals near ``start``; returns parameters and score.

    ``anchor`` holds the search back.
    """
    responses = 2 * targets.utilizations.size if weights.response else 0

    def residuals(points: FloatArray) -> FloatArray:
        D0, D1 = family.matrices(points)
        with np.errstate(all="ignore"):  # a far-off trial point may overflow; it is then not accepted
            second, third = _moments(D0, D1)
            parts = [
                weights.moments * np.log(second / targets.second_moment)[:, None],
                0.3 * weights.moments * np.log(third / targets.third_moment)[:, None],
                weights.idc * np.log(family.idc(points, targets.spans) / targets.idc),
                weights.stay * (points - anchor),
            ]
            if weights.response:
                parts.append(weights.response * _response_residuals(D0, D1, targets))
            return np.concatenate(parts, axis=1)

    point, left = levenberg_marquardt(residuals, start, (LOWEST, HIGHEST), steps)
    return point, float(np.sqrt((left[left.size - responses :] ** 2).mean())) if responses else 0.0


def _response_residuals(D0: FloatArray, D1: FloatArray, targets: QueueTargets) -> FloatArray:
    """Log of predicted over replayed mean and p95 at each reference utilization.

    The MAPs are stacked and have rate 1.
    """
    stacked, states, _ = D0.shape
    utilizations = targets.utilizations
    queues = stacked * utilizations.size
    # In mean service times the arrival rate is the utilization, so one stack holds every MAP at every utilization.
    scale = utilizations[None, :, None, None]
    predicted = age_process(
        (D0[:, None] * scale).reshape(queues, states, states),
        (D1[:, None] * scale).reshape(queues, states, states),
        np.repeat(REFERENCE_SERVICE.alpha[None], queues, axis=0),
        np.repeat(REFERENCE_SERVICE.T[None], queues, axis=0),
    )
    shape = (stacked, utilizations.size)
    mean = predicted.means().reshape(shape) * utilizations
    p95 = predicted.quantiles(np.array([0.05])).reshape(shape) * utilizations
    return np.concatenate([np.log(mean / targets.mean), np.log(p95 / targets.p95)], axis=1)


def _moments(D0: FloatArray, D1: FloatArray) -> tuple[FloatArray, FloatArray]:
    """``E[X^2]`` and ``E[X^3]`` of stacked MAPs of rate 1, by ``k! theta M^k 1`` with ``M = (-D0)^-1``."""
    waiting = np.linalg.inv(-D0)
    phase = stationary_rows(waiting @ D1)
    once = phase @ waiting
    twice = once @ waiting
    return 2 * twice.sum(axis=(1, 2)), 6 * (twice @ waiting).sum(axis=(1, 2))
