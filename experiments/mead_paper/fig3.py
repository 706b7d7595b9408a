"""Fig. 3 of the MEAD paper: response times predicted by three queueing models over the utilization.

One operator with Erlang-2 demands behind a smooth and a bursty trace. Measured means simulated here, with all arrivals
of the trace. The MAP is fitted to the same trace; M/PH/1 knows its rate, Kingman's formula its variance as well. The
paper's smooth trace (taxi rides in New York) is not part of this program: Poisson arrivals stand in for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.table import Table

from experiments.workloads import Workload
from mead.queueing import PH, fit_windows, kingman, m_ph_1, map_ph_1_at_utilizations, scv
from mead.reports.models.fit_report import MeanAndP95
from mead.reports.tables import NOTHING, number, plain_table
from mead.simulator import Simulation
from mead.values import Operator, Pipeline
from mead.workload import Trace

UTILIZATIONS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


@dataclass(frozen=True)
class UtilizationPoint:
    """Mean response times at one utilization."""

    utilization: float
    measured_s: float
    mg1_s: float
    kingman_s: float
    map_s: float | None
    """None if the trace has no model."""

    @property
    def errors(self) -> tuple[float, float, float | None]:
        """Errors of the three models, relative to what was measured."""
        return (
            self.mg1_s / self.measured_s - 1,
            self.kingman_s / self.measured_s - 1,
            None if self.map_s is None else self.map_s / self.measured_s - 1,
        )


@dataclass(frozen=True, eq=False)
class Curve:
    """All utilizations of one trace."""

    workload: Workload
    points: tuple[UtilizationPoint, ...]
    states: int
    fit_s: float
    note: str
    """Note of the fitter, such as a part of the trace that it left out."""

    def as_json(self) -> dict[str, Any]:
        """One entry of ``curves``."""
        return {
            "trace": self.workload.name,
            "states": self.states,
            "fit_s": self.fit_s,
            "note": self.note,
            "points": [
                {
                    "utilization": point.utilization,
                    "measured_s": point.measured_s,
                    "mg1_s": point.mg1_s,
                    "kingman_s": point.kingman_s,
                    "map_s": point.map_s,
                }
                for point in self.points
            ],
        }


def curve(workload: Workload, *, seed: int, clock: Callable[[], float]) -> Curve:
    """Fit, predict and simulate one workload."""
    trace = workload.trace(seed)
    start_s = clock()
    (fit,) = fit_windows(trace.iats_s, [trace.iats_s.size], best=1)
    fit_s = clock() - start_s
    model = fit.models[0].map if fit.models else None
    unit = PH.with_moments(1.0, 0.5)
    predicted: Sequence[float | None] = [None] * len(UTILIZATIONS)
    if model is not None:
        predicted = [MeanAndP95.of(s).mean_s for s in map_ph_1_at_utilizations(model, unit, UTILIZATIONS)]
    points = [
        _point(trace, utilization, map_s, seed) for utilization, map_s in zip(UTILIZATIONS, predicted, strict=True)
    ]
    return Curve(workload, tuple(points), 0 if model is None else model.states, fit_s, fit.note)


def _point(trace: Trace, utilization: float, map_s: float | None, seed: int) -> UtilizationPoint:
    demand_s = utilization / trace.rate_per_s
    service = PH.with_moments(demand_s, 0.5)
    simulation = Simulation(Pipeline("one", [Operator("matcher", demand_s, scv=0.5)]), trace, seed)
    simulation.drain()
    return UtilizationPoint(
        utilization,
        float(simulation.responses("matcher").response_s.mean()),
        MeanAndP95.of(m_ph_1(trace.rate_per_s, service)).mean_s,
        MeanAndP95.of(kingman(trace.rate_per_s, scv(trace.iats_s), demand_s, 0.5)).mean_s,
        map_s,
    )


def fig3_tables(curves: Sequence[Curve]) -> Iterator[Table]:
    """Response times, and how far every model is off."""
    for one in curves:
        title = f"{one.workload.title}: mean response in s; MAP of {one.states} states, fitted in {one.fit_s:.1f} s"
        table = plain_table(
            title, "utilization", "measured", "M/PH/1", "error", "Kingman", "error", "MAP/PH/1", "error"
        )
        for point in one.points:
            times_s = (point.mg1_s, point.kingman_s, point.map_s)
            cells = [
                cell
                for time_s, error in zip(times_s, point.errors, strict=True)
                for cell in (_number(time_s), NOTHING if error is None else f"{100 * error:+.0f} %")
            ]
            table.add_row(f"{point.utilization:g}", number(point.measured_s), *cells)
        table.caption, table.caption_justify = f"Note: {one.note}." if one.note else None, "left"
        yield table


def _number(value: float | None) -> str:
    return NOTHING if value is None else number(value)


def write_fig3(folder: Path, curves: Sequence[Curve]) -> list[Path]:
    """CSV, Markdown and the figure."""
    from experiments.mead_paper.fig3_plot import plot_curves

    table, page, plot = (folder / f"mead-fig3.{ending}" for ending in ("csv", "md", "png"))
    columns = ("utilization", "measured_s", "mg1_s", "kingman_s", "map_s")
    lines = [["trace", *columns]]
    lines += [
        [one.workload.name, *(str(getattr(point, column)) for column in columns)]
        for one in curves
        for point in one.points
    ]
    table.write_text("".join(",".join(line) + "\n" for line in lines))
    rows = ["| " + " | ".join(line) + " |\n" for line in (lines[0], ["---"] * len(lines[0]), *lines[1:])]
    page.write_text("# Fig. 3: models of the response time over the utilization\n\n" + "".join(rows))
    plot_curves(curves, plot)
    return [table, page, plot]
