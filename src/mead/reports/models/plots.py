"""Plots of fits and of traces: correlation, dispersion, and response times of window and model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from mead.arrays import FloatArray
from mead.queueing import Characteristics, lags_of, spans_of
from mead.reports.models.fit_report import Statistics, WindowReport, responses_at

UTILIZATIONS = tuple(np.linspace(0.1, 0.95, 18).round(2).tolist())
POINTS = 40
"""Lags and spans per curve, evenly spaced on the logarithmic axis."""

# Okabe and Ito's palette, for any kind of colour vision; line styles differ as well.
TRACE, MODEL, MG1, KINGMAN = "#000000", "#0072B2", "#D55E00", "#009E73"

PLAIN = FuncFormatter(lambda value, _: f"{value:,.10g}")
SECONDS = FuncFormatter(
    lambda value, _: (
        f"{value:,.10g} s" if value >= 1 else f"{value * 1e3:g} ms" if value >= 1e-3 else f"{value * 1e6:g} us"
    )
)

STYLE: dict[Any, Any] = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e6e6e6",
    "axes.axisbelow": True,
    "axes.titlelocation": "left",
    "axes.titlesize": 9.5,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "lines.linewidth": 1.8,
    "lines.markersize": 3.5,
}


def plot_fits(reports: Sequence[WindowReport], path: Path, *, seed: int) -> None:
    """Draw to a file; its ending sets the format."""
    with rc_context(STYLE):
        draw_fits(reports, seed=seed).savefig(path, dpi=150)


def draw_fits(reports: Sequence[WindowReport], *, seed: int) -> Figure:
    """One row per window: autocorrelation, index of dispersion, response time over utilization."""
    figure = Figure(figsize=(14.5, 4.0 * len(reports)), layout="constrained")
    rows = figure.subfigures(len(reports), squeeze=False, hspace=0.04)[:, 0]
    for row, report in zip(rows, reports, strict=True):
        row.suptitle(_headline(report), x=0.01, ha="left", weight="bold", size=11)
        correlation, dispersion, response = row.subplots(1, 3)
        _draw_statistics(correlation, dispersion, report)
        _draw_responses(response, report, seed)
    return figure


def _headline(report: WindowReport) -> str:
    window = "Last inter-arrival time" if report.fit.size == 1 else f"Last {report.fit.size:,} inter-arrival times"
    if report.is_cut:
        window += f", of which {report.fit.used:,} are used"
    if report.best is None:
        return f"{window}: no model"
    states = report.best.map.states
    return f"{window}: best model {report.best.family}, {states} state{'s' if states > 1 else ''}"


def _draw_statistics(correlation: Axes, dispersion: Axes, report: WindowReport) -> None:
    iats, total_s = report.used_iats_s.size, float(report.used_iats_s.sum())
    lags = _spread(lags_of(iats)).round().astype(int).tolist()
    lags = sorted(set(lags))
    spans_s = _spread(spans_of(iats, total_s)).tolist()
    window = Statistics.of_iats(report.used_iats_s, lags, spans_s)
    model = None if report.best is None else Statistics.of_map(report.best.map, lags, spans_s)

    correlation.set_title("Autocorrelation of inter-arrival times")
    correlation.set(xlabel="lag", xscale="log")
    correlation.xaxis.set_major_formatter(PLAIN)
    noise = 1.96 / np.sqrt(max(report.used_iats_s.size, 1))
    correlation.axhspan(-noise, noise, color="#dddddd", lw=0, label="95 % band of noise")
    _draw_both(correlation, window.acf, None if model is None else model.acf)
    widen(correlation, -0.05, 0.1)

    dispersion.set_title("Index of dispersion for counts")
    dispersion.set(xlabel="interval in s", xscale="log", yscale="log")
    dispersion.xaxis.set_major_formatter(PLAIN)
    dispersion.yaxis.set_major_formatter(PLAIN)
    dispersion.yaxis.set_minor_formatter(NullFormatter())
    dispersion.axhline(1.0, color=MG1, ls="-.", lw=1.2, label="Poisson")
    _draw_both(dispersion, window.idc, None if model is None else model.idc)
    widen(dispersion, 0.5, 2.0)


def widen(axes: Axes, low: float, high: float) -> None:
    """Show at least this range, within which values are no sign of burstiness."""
    bottom, top = axes.get_ylim()
    axes.set_ylim(min(bottom, low), max(top, high))


def _spread(ends: Sequence[float]) -> FloatArray:
    return np.geomspace(ends[0], ends[-1], POINTS) if ends else np.empty(0)


def _draw_both(axes: Axes, window: Mapping[Any, float], model: Mapping[Any, float] | None) -> None:
    axes.plot(list(window), list(window.values()), "o", color=TRACE, label="window")
    if model is not None:
        axes.plot(list(model), list(model.values()), color=MODEL, label="model")
    if window:
        axes.legend()
    else:
        axes.text(0.5, 0.5, "too little data", transform=axes.transAxes, ha="center", color="#666666")


def _draw_responses(axes: Axes, report: WindowReport, seed: int) -> None:
    axes.set_title("Response time behind an Erlang-2 server, replayed and predicted")
    axes.set(xlabel="utilization", yscale="log")
    axes.yaxis.set_major_formatter(SECONDS)
    if report.best is None:
        axes.text(0.5, 0.5, "no model", transform=axes.transAxes, ha="center", color="#666666")
        return
    responses = responses_at(report.used_iats_s, report.best.map, UTILIZATIONS, seed)
    curves = (
        ("window, p95", "o", TRACE, [at.replayed.p95_s for at in responses]),
        ("model, p95", "--", MODEL, [at.fitted.p95_s for at in responses]),
        ("window, mean", "o", TRACE, [at.replayed.mean_s for at in responses]),
        ("model, mean", "-", MODEL, [at.fitted.mean_s for at in responses]),
        ("Kingman, mean", ":", KINGMAN, [at.kingman.mean_s for at in responses]),
        ("M/G/1, mean", "-.", MG1, [at.mg1.mean_s for at in responses]),
    )
    for depth, (label, style, color, times_s) in enumerate(curves):
        inside = "white" if label == "window, p95" else color
        axes.plot(UTILIZATIONS, times_s, style, color=color, mfc=inside, label=label, zorder=3 - depth / len(curves))
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))  # beside the curves: they fill their axes


def plot_characteristics(found: Characteristics, path: Path) -> None:
    """Draw to a file; its ending sets the format."""
    with rc_context(STYLE):
        draw_characteristics(found).savefig(path, dpi=150)


def draw_characteristics(found: Characteristics) -> Figure:
    """Both curves side by side."""
    figure = Figure(figsize=(10.0, 4.0), layout="constrained")
    rate = "" if found.rate_per_s is None else f", {found.rate_per_s:,.4g} per second"
    figure.suptitle(f"{found.events:,} arrivals{rate}", x=0.01, ha="left", weight="bold", size=11)
    correlation, dispersion = figure.subplots(1, 2)
    _draw_trace_correlation(correlation, found)
    _draw_trace_dispersion(dispersion, found)
    return figure


def _draw_trace_correlation(axes: Axes, found: Characteristics) -> None:
    axes.set_title("Autocorrelation of inter-arrival times")
    axes.set(xlabel="lag", xscale="log")
    axes.xaxis.set_major_formatter(PLAIN)
    known = {lag: value for lag, value in found.acf.items() if value is not None}
    if not known:
        _explain_gap(axes, found.reasons["acf"])
        return
    noise = 1.96 / np.sqrt(found.events - 1)
    axes.axhspan(-noise, noise, color="#dddddd", lw=0, label="95 % band of noise")
    axes.plot(list(known), list(known.values()), "o-", color=TRACE, label="trace")
    widen(axes, -0.05, 0.1)
    axes.legend()


def _draw_trace_dispersion(axes: Axes, found: Characteristics) -> None:
    axes.set_title("Index of dispersion for counts")
    axes.set(xlabel="interval in s", xscale="log", yscale="log")
    axes.xaxis.set_major_formatter(PLAIN)
    axes.yaxis.set_major_formatter(PLAIN)
    axes.yaxis.set_minor_formatter(NullFormatter())
    known = {span_s: value for span_s, value in found.idc.items() if value > 0}  # a logarithmic axis has no 0
    if not known:
        _explain_gap(axes, found.reasons.get("idc", "the arrivals are regular: it is 0"))
        return
    axes.axhline(1.0, color=MG1, ls="-.", lw=1.2, label="Poisson")
    axes.plot(list(known), list(known.values()), "o-", color=TRACE, label="trace")
    _draw_slope(axes, found, known)
    widen(axes, 0.5, 2.0)
    axes.legend()


def _draw_slope(axes: Axes, found: Characteristics, known: dict[float, float]) -> None:
    """A line of slope 2H - 1, the growth of the index of dispersion with long memory."""
    if found.hurst is None:
        return
    within = [span_s for span_s in known if found.hurst.shortest_s <= span_s <= found.hurst.longest_s]
    if len(within) < 2:
        return
    slope = 2 * found.hurst.value - 1
    spans_s = np.array(within)
    height = np.exp(np.mean(np.log([known[span_s] for span_s in within]) - slope * np.log(spans_s)))
    axes.plot(spans_s, height * spans_s**slope, "--", color=MODEL, label=f"slope of H = {found.hurst.value:.2f}")


def _explain_gap(axes: Axes, reason: str) -> None:
    axes.text(0.5, 0.5, reason, transform=axes.transAxes, ha="center", color="#666666", wrap=True)
