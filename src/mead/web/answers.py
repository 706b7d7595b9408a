"""Answers of the models to questions of the page. They run in a separate process, see ``model_process``."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from mead.arrays import FloatArray
from mead.policies.predictive.map_network import ArrivalModel, solve_pipeline
from mead.policies.predictive.predictions import meets, meets_all, memoize, response_s
from mead.policies.predictive.search import Predictor
from mead.queueing import MAP, NetworkSolution, QueueSolution, Unstable, fit_calibrated, lags_of, spans_of
from mead.reports.documents import allocation_json
from mead.reports.models.fit_report import Statistics
from mead.reports.what_if.frontier import find_frontier
from mead.values import Allocation, Pipeline
from mead.web.question import Question

PERCENTS = (50.0, 95.0, 99.0)
RATIO = 4.0
"""The rate of a bursty state over the mean rate, if the index of dispersion allows it."""

MOST_EXACT, MOST_EXACT_BATCHES = 125, 400
"""With more allocations than this, the paper's heuristic finds the frontier, to answer fast. Micro-batches allow more:
operators are solved one by one, and candidates share most of them."""

FITTED_IATS, LEAST_FITTED = 20_000, 500
"""The most IATs that the page fits, and the least for a fit."""

DRIFTED = 3.0
"""Standard deviations that count as a drift."""

POLICY = "map"


def arrivals(rate_per_s: float, idc: float) -> MAP:
    """The simplest process of that rate and limit of the index of dispersion.

    A small index allows no state of ``RATIO`` times the mean rate: the least index of a ratio r is
    ``1 + 2 (r - 1)^2 / (r + 1)``, and is solved for r here.

    >>> [round(arrivals(100.0, idc).idc_limit, 6) for idc in (1.0, 1.5, 3.0, 400.0)]
    [1.0, 1.5, 3.0, 400.0]
    """
    if idc < 1 + 1e-6:
        return MAP.poisson(rate_per_s)
    over = (idc - 1) / 2
    highest = (2 + over + sqrt(over * over + 8 * over)) / 2
    return MAP.two_state(rate_per_s, idc, ratio=min(RATIO, 1 + (highest - 1) * 0.999))


def prediction(pipeline: Pipeline, question: Question) -> dict[str, Any]:
    """Response times, utilizations and cost of the allocation in question."""
    required = question.with_bounds(pipeline)
    solution = _predictor(required, question)(question.allocation)
    return {
        "cores": question.allocation.cores,
        "met": meets_all(solution, required.requirements),
        "operators": {name: {"utilization": queue.utilization} for name, queue in solution.operators.items()},
        "paths": {path: _response(queue) for path, queue in solution.paths.items()},
        "requirements": [
            {"path": r.path, "statistic": r.statistic, "bound_s": r.bound_s, "met": meets(solution, r)}
            | _predicted(solution, r.path, r.percent)
            for r in required.requirements
        ],
    }


def frontier(pipeline: Pipeline, question: Question) -> dict[str, Any]:
    """The cheapest allocation for bounds that are shorter and longer than those in question."""
    most = MOST_EXACT_BATCHES if all(o.batches for o in pipeline.operators) else MOST_EXACT
    found = find_frontier(question.with_bounds(pipeline), _predictor(pipeline, question), most)
    return {
        "search": "exact" if found.exact else "heuristic",
        "points": [
            {
                "factor": point.factor,
                "bounds_s": [r.bound_s for r in point.requirements],
                "cores": point.allocation.cores,
                "allocation": allocation_json(point.allocation),
                "met": point.met,
            }
            for point in found.points
        ],
    }


def workload(iats_s: FloatArray) -> dict[str, Any]:
    """The last arrivals, the best MAP for them, and a test for a drift of their rate."""
    if iats_s.size < LEAST_FITTED or not iats_s.any():
        return {"iats": int(iats_s.size), "note": f"{iats_s.size} arrivals are too few; {LEAST_FITTED} are needed"}
    window = iats_s[-FITTED_IATS:]
    fit = fit_calibrated(window, best=1)
    used = window[-fit.used :]
    lags, spans_s = lags_of(used.size), spans_of(used.size, float(used.sum()))
    trace = Statistics.of_iats(used, lags, spans_s)
    fitted = None if not fit.models else Statistics.of_map(fit.models[0].map, lags, spans_s)
    model = fit.models[0] if fit.models else None
    return {
        "iats": int(used.size),
        "span_s": float(used.sum()),
        "note": fit.note,
        "trace": trace.as_json(),
        "fitted": None if fitted is None else fitted.as_json(),
        "model": None if model is None else {"family": model.family, "states": model.map.states, "score": model.score},
        "drift": None if model is None else Drift.of(window, model.map.idc_limit).as_json(),
    }


@dataclass(frozen=True)
class Drift:
    """A comparison of the rates in the older and the younger half of a window.

    A count of mean m has the variance m times the index of dispersion. The difference of two counts in standard
    deviations therefore allows for bursts; measured against Poisson arrivals, every burst would look like a drift.
    """

    older_per_s: float
    younger_per_s: float
    deviations: float

    @classmethod
    def of(cls, iats_s: FloatArray, idc: float) -> Drift:
        """Split a window into halves of equal time.

        >>> Drift.of(np.r_[np.full(100, 0.02), np.full(200, 0.01)], idc=1.0).deviations > DRIFTED
        True
        >>> Drift.of(np.r_[np.full(100, 0.02), np.full(200, 0.01)], idc=100.0).deviations > DRIFTED
        False
        """
        times_s = np.cumsum(iats_s)
        half_s = float(times_s[-1]) / 2
        older = int(np.searchsorted(times_s, half_s))
        younger = times_s.size - older
        return cls(older / half_s, younger / half_s, (younger - older) / sqrt(max(idc, 1e-9) * times_s.size))

    def as_json(self) -> dict[str, Any]:
        """As a document for the page."""
        return {
            "older_per_s": self.older_per_s,
            "younger_per_s": self.younger_per_s,
            "deviations": self.deviations,
            "drifted": abs(self.deviations) > DRIFTED,
        }


def _predictor(pipeline: Pipeline, question: Question) -> Predictor:
    source = ArrivalModel(arrivals(question.rate_per_s, question.idc))

    def predict(allocation: Allocation) -> NetworkSolution:
        return solve_pipeline(pipeline, allocation, [source], POLICY)[0]

    return memoize(predict)


def _response(queue: QueueSolution) -> dict[str, Any]:
    if isinstance(queue, Unstable):
        return {"stable": False, "utilization": queue.utilization}
    return {
        "stable": True,
        "utilization": queue.utilization,
        "mean_s": queue.mean_s,
        **{f"p{percent:g}_s": queue.percentile_s(percent) for percent in PERCENTS},
    }


def _predicted(solution: NetworkSolution, path: str, percent: float | None) -> dict[str, Any]:
    queue = solution.paths[path]
    return {"predicted_s": None if isinstance(queue, Unstable) else response_s(queue, percent)}
