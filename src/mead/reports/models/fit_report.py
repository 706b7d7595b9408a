"""The report on a fit: statistics of a window and its models, and the response times that both lead to.

A fit is as good as the queue that it predicts. The report replays the window through an Erlang-2 server at several
utilizations, solves the queue of the best model there, and adds M/G/1 and Kingman's formula.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

import numpy as np
from rich.table import Table
from rich.text import Text

from mead.arrays import FloatArray
from mead.queueing import (
    MAP,
    REFERENCE_SERVICE,
    FittedMAP,
    Fitter,
    QueueSolution,
    ResponseTime,
    ServiceTimes,
    Window,
    WindowFit,
    acf,
    distinct,
    fit_windows,
    idc,
    kingman,
    lags_of,
    m_ph_1,
    map_ph_1_at_utilizations,
    prepare,
    replay_at_utilizations,
    scv,
    spans_of,
)
from mead.reports.tables import NOTHING, TimeUnit, number, number_or_nothing, plain_table
from mead.workload import Trace

UTILIZATIONS = (0.3, 0.5, 0.7, 0.8, 0.9)


@dataclass(frozen=True)
class Statistics:
    """Four statistics of a stream, at lags in IATs and spans in seconds; None if undefined."""

    rate_per_s: float | None
    scv: float | None
    acf: Mapping[int, float]
    idc: Mapping[float, float]
    idc_limit: float | None = None
    """Only for a model, because no window is long enough."""

    @classmethod
    def of_iats(cls, iats_s: FloatArray, lags: Sequence[int], spans_s: Sequence[float]) -> Statistics:
        """The statistics of recorded IATs."""
        if not iats_s.any():
            return cls(None, None, {}, {})
        return cls(
            rate_per_s=iats_s.size / float(iats_s.sum()),
            scv=scv(iats_s),
            acf=dict(zip(lags, acf(iats_s, lags).tolist(), strict=True)),
            idc=dict(zip(spans_s, idc(iats_s, spans_s).tolist(), strict=True)),
        )

    @classmethod
    def of_map(cls, model: MAP, lags: Sequence[int], spans_s: Sequence[float]) -> Statistics:
        """The same statistics of a model."""
        return cls(
            rate_per_s=model.rate_per_s,
            scv=model.scv,
            acf=dict(zip(lags, model.acf(lags).tolist(), strict=True)),
            idc=dict(zip(spans_s, model.idc(spans_s).tolist(), strict=True)),
            idc_limit=model.idc_limit,
        )

    def as_json(self) -> dict[str, Any]:
        """Lags and spans become the keys of objects."""
        document = {
            "rate_per_s": self.rate_per_s,
            "scv": self.scv,
            "acf": {str(lag): value for lag, value in self.acf.items()},
            "idc": {f"{span_s:g}": value for span_s, value in self.idc.items()},
        }
        return document if self.idc_limit is None else document | {"idc_limit": self.idc_limit}


class MeanAndP95(NamedTuple):
    """Mean and 95th percentile of a response time."""

    mean_s: float
    p95_s: float

    @classmethod
    def of(cls, solution: QueueSolution) -> MeanAndP95:
        """Those of a stable queue."""
        response = cast(ResponseTime, solution)
        return cls(response.mean_s, response.percentile_s(95))


@dataclass(frozen=True)
class ResponseAt:
    """The response time at one utilization: replayed, and predicted by three models."""

    utilization: float
    mean_service_s: float
    replayed: MeanAndP95
    fitted: MeanAndP95
    mg1: MeanAndP95
    kingman: MeanAndP95

    def as_json(self) -> dict[str, Any]:
        """Mean and 95th percentile of each."""
        answers = {"replayed": self.replayed, "fitted": self.fitted, "mg1": self.mg1, "kingman": self.kingman}
        return {"utilization": self.utilization, "mean_service_s": self.mean_service_s} | {
            name: answer._asdict() for name, answer in answers.items()
        }


@dataclass(frozen=True)
class WindowReport:
    """One window with its models and their response times."""

    fit: WindowFit
    seconds: float
    """Wall time of the fit."""
    iats_s: FloatArray = field(repr=False)
    used_iats_s: FloatArray = field(repr=False)
    """The part of the window that the models describe: all of it, unless a silence or a jump of the rate cuts it."""
    trace: Statistics
    used: Statistics
    fitted: Statistics | None
    responses: tuple[ResponseAt, ...]

    @property
    def best(self) -> FittedMAP | None:
        """The best model, if there is any."""
        return self.fit.models[0] if self.fit.models else None

    @property
    def is_cut(self) -> bool:
        """Whether the models describe only a part of the window."""
        return self.used_iats_s.size < self.iats_s.size

    def as_json(self) -> dict[str, Any]:
        """One entry of ``windows`` in the document of `mead fit --json`."""
        return {
            "size": self.fit.size,
            "used": self.fit.used,
            "span_s": float(self.iats_s.sum()),
            "seconds": self.seconds,
            "note": self.fit.note,
            "maps": [
                {
                    "D0": model.map.D0.tolist(),
                    "D1": model.map.D1.tolist(),
                    "states": model.map.states,
                    "score": model.score,
                    "family": model.family,
                }
                for model in self.fit.models
            ],
            "trace": self.trace.as_json(),
            "trace_used": self.used.as_json() if self.is_cut else None,
            "fitted": None if self.fitted is None else self.fitted.as_json(),
            "response": [response.as_json() for response in self.responses],
        }


def report_fits(
    trace: Trace, sizes: Sequence[int], *, fitter: Fitter, best: int, seed: int, clock: Callable[[], float]
) -> Iterator[WindowReport]:
    """Fit every distinct window of a trace and report on it, one after the other. ``clock`` gives seconds."""
    for size in distinct(sizes, trace.iats_s.size):
        start_s = clock()
        (fit,) = fit_windows(trace.iats_s, [size], fitter=fitter, best=best, seed=seed)
        yield _report(fit, trace.iats_s[-size:], clock() - start_s, seed)


def _report(fit: WindowFit, iats_s: FloatArray, seconds: float, seed: int) -> WindowReport:
    prepared = prepare(iats_s)
    used = prepared.unit / prepared.rate_per_s if isinstance(prepared, Window) else iats_s
    lags, spans_s = lags_of(used.size), spans_of(used.size, float(used.sum()))
    model = fit.models[0].map if fit.models else None
    return WindowReport(
        fit=fit,
        seconds=seconds,
        iats_s=iats_s,
        used_iats_s=used,
        # Each at its own lags and spans: after a long silence, most short spans would be empty.
        trace=Statistics.of_iats(iats_s, lags_of(iats_s.size), spans_of(iats_s.size, float(iats_s.sum()))),
        used=Statistics.of_iats(used, lags, spans_s),
        fitted=None if model is None else Statistics.of_map(model, lags, spans_s),
        responses=() if model is None else responses_at(used, model, UTILIZATIONS, seed),
    )


def responses_at(iats_s: FloatArray, model: MAP, utilizations: Sequence[float], seed: int) -> tuple[ResponseAt, ...]:
    """The window replayed, its model and two simpler ones, behind an Erlang-2 server at each utilization."""
    # Other service times than those of the calibration, which would favour the model.
    rng = np.random.default_rng([seed, 1])
    replayed = replay_at_utilizations(iats_s, ServiceTimes.drawn(REFERENCE_SERVICE, iats_s.size, rng), utilizations)
    fitted = map_ph_1_at_utilizations(model, REFERENCE_SERVICE, utilizations, percents=[95])
    rate, arrival_scv = iats_s.size / float(iats_s.sum()), scv(iats_s)
    answers = []
    for utilization, truth, prediction in zip(utilizations, replayed, fitted, strict=True):
        service = REFERENCE_SERVICE.scaled(utilization / rate / REFERENCE_SERVICE.mean_s)
        answers.append(
            ResponseAt(
                utilization=utilization,
                mean_service_s=service.mean_s,
                replayed=MeanAndP95.of(truth),
                fitted=MeanAndP95.of(prediction),
                mg1=MeanAndP95.of(m_ph_1(rate, service)),
                kingman=MeanAndP95.of(kingman(rate, arrival_scv, service.mean_s, service.scv)),
            )
        )
    return tuple(answers)


def fit_tables(report: WindowReport) -> Iterator[Table | Text]:
    """Tables of the window, its models and the response times of both, and the note."""
    span_s = float(report.iats_s.sum())
    iats = "IAT" if report.fit.size == 1 else f"{report.fit.size:,} IATs"
    window = f"The last {iats}, {number(span_s)} s; fitted in {report.seconds:.2f} s"
    yield _statistics_table(window, report)
    if report.responses:
        yield _response_table(report.responses)
    if report.fit.note:
        yield Text(f"Note: {report.fit.note}.", style="yellow")


def _statistics_table(title: str, report: WindowReport) -> Table:
    span_s = max(report.used.idc, default=None)
    idc = "IDC" if span_s is None else f"IDC({span_s:g} s)"
    table = plain_table(title, "", "rate/s", "SCV", "ACF(1)", "ACF(100)", idc, "limit", "states", "score")
    table.add_row("window", *_statistics_cells(report.trace, span_s))
    if report.is_cut:
        table.add_row("used part", *_statistics_cells(report.used, span_s))
    lags, spans_s = list(report.used.acf), list(report.used.idc)
    for model in report.fit.models:
        cells = _statistics_cells(Statistics.of_map(model.map, lags, spans_s), span_s)
        table.add_row(model.family, *cells, str(model.map.states), number(model.score))
    return table


def _statistics_cells(statistics: Statistics, span_s: float | None) -> list[str]:
    correlations = [statistics.acf.get(lag) for lag in (1, 100)]
    dispersion = None if span_s is None else statistics.idc.get(span_s)
    return [
        *(number_or_nothing(value) for value in (statistics.rate_per_s, statistics.scv)),
        *(NOTHING if value is None else f"{value:.3f}" for value in correlations),
        *(number_or_nothing(value) for value in (dispersion, statistics.idc_limit)),
    ]


def _response_table(responses: Sequence[ResponseAt]) -> Table:
    rows = [(at.utilization, [*at.replayed, *at.fitted, at.mg1.mean_s, at.kingman.mean_s]) for at in responses]
    unit = TimeUnit.of(time_s for _, times_s in rows for time_s in times_s)
    title = f"Response time in {unit.name} behind an Erlang-2 server"
    table = plain_table(title, "utilization", "replayed", "p95", "best model", "p95", "M/G/1", "Kingman")
    for utilization, times_s in rows:
        table.add_row(f"{utilization:g}", *(unit.show(time_s) for time_s in times_s))
    return table
