"""Fig. 3 of the MEAD paper: response times predicted by three queueing models over the utilization.

One operator with Erlang-2 demands behind a smooth and a bursty trace. Measured means simulated here, with all arrivals
of the trace. Two MAPs are fitted to the same trace: one by KPC to its moments and correlations, as in the paper, and
one calibrated on replayed response times, which has seen the queue that it predicts. M/PH/1 knows the rate, Kingman's
formula the variance as well. The paper's smooth trace (taxi rides in New York) is not part of this program: Poisson
arrivals stand in for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.table import Table

from experiments.workloads import Workload
from mead.queueing import PH, WindowFit, fit_windows, kingman, m_ph_1, map_ph_1_at_utilizations, scv
from mead.reports.models.fit_report import MeanAndP95
from mead.reports.tables import NOTHING, number, number_or_nothing, plain_table
from mead.simulator import Simulation
from mead.values import Operator, Pipeline
from mead.workload import Trace

UTILIZATIONS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)

MODELS = {"mg1": "M/PH/1", "kingman": "Kingman", "kpc": "MAP", "map": "calibrated"}
"""The models by key, and their names."""

HEADINGS = tuple(heading for name in MODELS.values() for heading in (name, "%"))

NOTE = (
    "MAP: fitted by KPC to moments and correlations, as in the paper; calibrated: fitted to response times of the "
    "replayed trace, so that it has seen the queue that it predicts."
)


@dataclass(frozen=True)
class UtilizationPoint:
    """Mean response times at one utilization."""

    utilization: float
    measured_s: float
    mg1_s: float
    kingman_s: float
    kpc_s: float | None
    """By the MAP that is fitted to statistics; None if the trace has no model, as for the next one."""
    map_s: float | None
    """By the MAP that is calibrated on replayed response times."""

    def error(self, model: str) -> float | None:
        """Error of a model, relative to what was measured."""
        predicted_s = getattr(self, f"{model}_s")
        return None if predicted_s is None else predicted_s / self.measured_s - 1


@dataclass(frozen=True, eq=False)
class Curve:
    """All utilizations of one trace."""

    workload: Workload
    points: tuple[UtilizationPoint, ...]
    states: int
    """Of the calibrated MAP."""
    kpc_states: int
    fit_s: float
    note: str
    """Note of the fitter, such as a part of the trace that it left out."""

    def as_json(self) -> dict[str, Any]:
        """One entry of ``curves``."""
        return {
            "trace": self.workload.name,
            "states": self.states,
            "kpc_states": self.kpc_states,
            "fit_s": self.fit_s,
            "note": self.note,
            "points": [asdict(point) for point in self.points],
        }

    def factor(self, model: str) -> float | None:
        """The largest factor by which a model is off, up or down; None without a model."""
        errors = [point.error(model) for point in self.points]
        if any(error is None for error in errors):
            return None
        return max(max(1 + error, 1 / (1 + error)) for error in errors if error is not None)


def curve(workload: Workload, *, seed: int, clock: Callable[[], float]) -> Curve:
    """Fit, predict and simulate one workload."""
    trace = workload.trace(seed)
    start_s = clock()
    (fit,) = fit_windows(trace.iats_s, [trace.iats_s.size], best=1)
    fit_s = clock() - start_s
    (kpc,) = fit_windows(trace.iats_s, [trace.iats_s.size], fitter="kpc", best=1)
    calibrated_s, statistics_s = _predicted(fit), _predicted(kpc)
    points = [
        _point(trace, utilization, kpc_s, map_s, seed)
        for utilization, kpc_s, map_s in zip(UTILIZATIONS, statistics_s, calibrated_s, strict=True)
    ]
    states, kpc_states = (one.models[0].map.states if one.models else 0 for one in (fit, kpc))
    return Curve(workload, tuple(points), states, kpc_states, fit_s, fit.note)


def _predicted(fit: WindowFit) -> list[float] | list[None]:
    """Mean response times of the best model at all utilizations."""
    if not fit.models:
        return [None] * len(UTILIZATIONS)
    unit = PH.with_moments(1.0, 0.5)
    return [MeanAndP95.of(s).mean_s for s in map_ph_1_at_utilizations(fit.models[0].map, unit, UTILIZATIONS)]


def _point(trace: Trace, utilization: float, kpc_s: float | None, map_s: float | None, seed: int) -> UtilizationPoint:
    demand_s = utilization / trace.rate_per_s
    service = PH.with_moments(demand_s, 0.5)
    simulation = Simulation(Pipeline("one", [Operator("matcher", demand_s, scv=0.5)]), trace, seed)
    simulation.drain()
    return UtilizationPoint(
        utilization,
        float(simulation.responses("matcher").response_s.mean()),
        MeanAndP95.of(m_ph_1(trace.rate_per_s, service)).mean_s,
        MeanAndP95.of(kingman(trace.rate_per_s, scv(trace.iats_s), demand_s, 0.5)).mean_s,
        kpc_s,
        map_s,
    )


def fig3_tables(curves: Sequence[Curve]) -> Iterator[Table | str]:
    """Response times, how far every model is off, and whether the paper's claim comes out."""
    for one in curves:
        states = f"MAPs of {one.kpc_states} (KPC) and {one.states} states"
        table = plain_table(f"{one.workload.title}: mean response in s; {states}", "load", "measured", *HEADINGS)
        table.columns[0].no_wrap = True
        for point in one.points:
            cells = [
                cell
                for model in MODELS
                for cell in (number_or_nothing(getattr(point, f"{model}_s")), _percent(point.error(model)))
            ]
            table.add_row(f"{point.utilization:g}", number(point.measured_s), *cells)
        table.caption, table.caption_justify = f"Note: {one.note}." if one.note else None, "left"
        yield table
        yield conclusion(one)
    yield NOTE


def _percent(error: float | None) -> str:
    return NOTHING if error is None else f"{100 * error:+.0f}"


def conclusion(one: Curve) -> str:
    """How far each model is off at worst. The paper claims that MAP/PH/1 matches low and high utilizations."""
    factors = ((name, one.factor(model)) for model, name in MODELS.items())
    known = [f"{name} {number(factor)}" for name, factor in factors if factor is not None]
    return f"{one.workload.name}, largest factor off at any utilization: {', '.join(known)}."


def write_fig3(folder: Path, curves: Sequence[Curve]) -> list[Path]:
    """CSV, Markdown and the figure."""
    table, page = (folder / f"mead-fig3.{ending}" for ending in ("csv", "md"))
    columns = ("utilization", "measured_s", *(f"{model}_s" for model in MODELS))
    lines = [["trace", *columns]]
    lines += [
        [one.workload.name, *(str(getattr(point, column)) for column in columns)]
        for one in curves
        for point in one.points
    ]
    table.write_text("".join(",".join(line) + "\n" for line in lines))
    rows = ["| " + " | ".join(line) + " |\n" for line in (lines[0], ["---"] * len(lines[0]), *lines[1:])]
    page.write_text("# Fig. 3: models of the response time over the utilization\n\n" + "".join(rows))
    return [table, page, plot_fig3(folder, curves)]


def plot_fig3(folder: Path, curves: Sequence[Curve]) -> Path:
    """The figure."""
    from experiments.mead_paper.plots import plot_curves

    plot = folder / "mead-fig3.png"
    plot_curves(curves, plot)
    return plot
