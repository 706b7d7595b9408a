"""The characteristics of a trace as a picture: autocorrelation over lags, dispersion over intervals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from mead.queueing import Characteristics
from mead.reports.models.fit_plot import MG1, MODEL, PLAIN, STYLE, TRACE, widen


def plot_characteristics(found: Characteristics, path: Path) -> None:
    """Draw to a file, whose ending names the format."""
    with rc_context(STYLE):
        drawn(found).savefig(path, dpi=150)


def drawn(found: Characteristics) -> Figure:
    """Both curves side by side."""
    figure = Figure(figsize=(10.0, 4.0), layout="constrained")
    rate = "" if found.rate_per_s is None else f", {found.rate_per_s:,.4g} per second"
    figure.suptitle(f"{found.events:,} arrivals{rate}", x=0.01, ha="left", weight="bold", size=11)
    correlation, dispersion = figure.subplots(1, 2)
    _draw_correlation(correlation, found)
    _draw_dispersion(dispersion, found)
    return figure


def _draw_correlation(axes: Axes, found: Characteristics) -> None:
    axes.set_title("Autocorrelation of inter-arrival times")
    axes.set(xlabel="lag", xscale="log")
    axes.xaxis.set_major_formatter(PLAIN)
    known = {lag: value for lag, value in found.acf.items() if value is not None}
    if not known:
        _say_why(axes, found.reasons["acf"])
        return
    noise = 1.96 / np.sqrt(found.events - 1)
    axes.axhspan(-noise, noise, color="#dddddd", lw=0, label="95 % band of noise")
    axes.plot(list(known), list(known.values()), "o-", color=TRACE, label="trace")
    widen(axes, -0.05, 0.1)
    axes.legend()


def _draw_dispersion(axes: Axes, found: Characteristics) -> None:
    axes.set_title("Index of dispersion for counts")
    axes.set(xlabel="interval in s", xscale="log", yscale="log")
    axes.xaxis.set_major_formatter(PLAIN)
    axes.yaxis.set_major_formatter(PLAIN)
    axes.yaxis.set_minor_formatter(NullFormatter())
    known = {span_s: value for span_s, value in found.idc.items() if value > 0}  # a logarithmic axis has no 0
    if not known:
        _say_why(axes, found.reasons.get("idc", "the arrivals are regular: it is 0"))
        return
    axes.axhline(1.0, color=MG1, ls="-.", lw=1.2, label="Poisson")
    axes.plot(list(known), list(known.values()), "o-", color=TRACE, label="trace")
    _draw_slope(axes, found, known)
    widen(axes, 0.5, 2.0)
    axes.legend()


def _draw_slope(axes: Axes, found: Characteristics, known: dict[float, float]) -> None:
    """With long memory the index of dispersion grows as t^(2H - 1): a line of that slope through what was measured."""
    if found.hurst is None:
        return
    within = [span_s for span_s in known if found.hurst.shortest_s <= span_s <= found.hurst.longest_s]
    if len(within) < 2:
        return
    slope = 2 * found.hurst.value - 1
    spans_s = np.array(within)
    height = np.exp(np.mean(np.log([known[span_s] for span_s in within]) - slope * np.log(spans_s)))
    axes.plot(spans_s, height * spans_s**slope, "--", color=MODEL, label=f"slope of H = {found.hurst.value:.2f}")


def _say_why(axes: Axes, reason: str) -> None:
    axes.text(0.5, 0.5, reason, transform=axes.transAxes, ha="center", color="#666666", wrap=True)
