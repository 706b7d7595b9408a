"""The picture of a fit. What it looks like is for eyes; here, that it shows what the report says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from mead.arrays import FloatArray
from mead.queueing import MAP
from mead.reports.models.fit_report import WindowReport, report_fits
from mead.reports.models.plots import draw_fits, plot_fits
from mead.workload import Trace


def reports(iats_s: FloatArray, *sizes: int) -> list[WindowReport]:
    trace = Trace.from_iats_s(iats_s)
    return list(report_fits(trace, sizes, fitter="calibrated", best=1, seed=0, clock=lambda: 0.0))


@pytest.fixture(scope="module")
def bursty() -> list[WindowReport]:
    return reports(MAP.two_state(100.0, idc=50.0).sample(6_000, np.random.default_rng(1)), 6_000, 3_000)


@pytest.fixture(scope="module")
def figure(bursty: list[WindowReport]) -> Figure:
    return draw_fits(bursty, seed=0)


def test_every_window_has_three_panels(figure: Figure) -> None:
    assert [len(row.axes) for row in figure.subfigs] == [3, 3]


def test_curves_pass_through_the_numbers_of_the_report(figure: Figure, bursty: list[WindowReport]) -> None:
    report = bursty[0]
    assert report.fitted is not None
    correlation, dispersion, response = figure.subfigs[0].axes
    curves = {
        (panel, line.get_label()): dict(zip(*map(np.ndarray.tolist, map(np.asarray, line.get_data())), strict=True))
        for panel, axes in zip("cdr", (correlation, dispersion, response), strict=True)
        for line in axes.get_lines()
    }
    assert curves["c", "window"][1] == pytest.approx(report.trace.acf[1])
    assert curves["c", "model"][1] == pytest.approx(report.fitted.acf[1])
    shortest_s = min(report.trace.idc)
    assert curves["d", "window"][shortest_s] == pytest.approx(report.trace.idc[shortest_s])
    assert curves["d", "model"][shortest_s] == pytest.approx(report.fitted.idc[shortest_s])
    at = {response.utilization: response for response in report.responses}[0.7]
    assert curves["r", "window, mean"][0.7] == pytest.approx(at.replayed.mean_s)
    assert curves["r", "window, p95"][0.7] == pytest.approx(at.replayed.p95_s)
    assert curves["r", "model, mean"][0.7] == pytest.approx(at.fitted.mean_s)
    assert curves["r", "model, p95"][0.7] == pytest.approx(at.fitted.p95_s)
    assert curves["r", "M/G/1, mean"][0.7] == pytest.approx(at.mg1.mean_s)
    assert curves["r", "Kingman, mean"][0.7] == pytest.approx(at.kingman.mean_s)


@pytest.mark.parametrize("ending", [".png", ".pdf", ".svg"])
def test_file_has_the_format_of_its_ending(ending: str, bursty: list[WindowReport], tmp_path: Path) -> None:
    path = tmp_path / f"fit{ending}"
    plot_fits(bursty[1:], path, seed=0)
    start = {".png": b"\x89PNG", ".pdf": b"%PDF", ".svg": b"<?xml"}[ending]
    assert path.read_bytes().startswith(start)


@pytest.mark.parametrize("iats_s", [np.zeros(5), np.array([1.0]), np.array([1.0, 3.0]), np.full(500, 0.1)])
def test_little_data_is_drawn_too(iats_s: FloatArray, tmp_path: Path) -> None:
    path = tmp_path / "fit.png"
    plot_fits(reports(iats_s, 500), path, seed=0)
    assert path.stat().st_size > 0
