"""Benchmark fitted models: predictions for their window and the next one, and speed.

A fit is judged by the queue it predicts: mean and 95th percentile of the response of MAP/Erlang-2/1 at utilizations
.3 .5 .7 .8 .9, against the window's own response (replayed, 16 sequences of service times that no fitter has seen). No
fitter calibrates at one of these utilizations. Windows are tiled over the whole trace.

    benchmarks/bench_fitting.py [--trace FILE] [--anchor-limit S] [--no-anchor]

The trace is Bellcore BC-pAug89 where it lies in ../shared/data; otherwise a generated one takes its place, and the
figures are then not those of the documentation. The anchor, line-solver's own fit of one window, takes many
minutes; ``--no-anchor`` leaves it out.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from mead.arrays import FloatArray
from mead.queueing import (
    MAP,
    PH,
    QueueSolution,
    ServiceTimes,
    Unstable,
    WindowFit,
    fit_calibrated,
    fit_kpc,
    kingman,
    m_ph_1,
    map_ph_1_at_utilizations,
    replay_at_utilizations,
    scv,
)
from mead.workload import KINDS, read_trace

if TYPE_CHECKING:
    from benchmarks.common import fresh_process_table
else:  # run as a script, whose folder is where its imports come from
    from common import fresh_process_table

BELLCORE = Path(__file__).parents[2] / "shared" / "data" / "bc-paug89.parquet"
JUDGED = (0.3, 0.5, 0.7, 0.8, 0.9)
SERVICE = PH.erlang(2, 1.0)
ANCHOR_WINDOW = slice(150_000, 200_000)
CLIFF_WINDOW = slice(700_000, 750_000)

Prediction: TypeAlias = FloatArray
"""Mean (row 0) and p95 (row 1) at the judged utilizations, in mean IATs."""
Predictor: TypeAlias = Callable[[FloatArray], Prediction]

console = Console(width=170)


def numbers(solutions: list[QueueSolution]) -> Prediction:
    """Mean and p95; every judged utilization is stable."""
    stable = [s for s in solutions if not isinstance(s, Unstable)]
    return np.array([[s.mean_s for s in stable], [s.percentile_s(95) for s in stable]])


def replayed(unit: FloatArray, seed: int, sequences: int, service: PH = SERVICE) -> Prediction:
    """The response of the window itself."""
    services = ServiceTimes.drawn(service, unit.size, np.random.default_rng(seed), sequences=sequences)
    return numbers(replay_at_utilizations(unit, services, JUDGED))


def of_map(model: MAP, service: PH = SERVICE) -> Prediction:
    """The response of MAP/PH/1 in mean IATs."""
    return numbers(map_ph_1_at_utilizations(model.with_rate(1.0), service, JUDGED))


def of_fit(fit: WindowFit) -> Prediction:
    """The prediction of the best model."""
    return of_map(fit.models[0].map)


PREDICTORS: dict[str, Predictor] = {
    "replay, other service times": lambda unit: replayed(unit, seed=77, sequences=8),
    "calibrated, best of 5": lambda unit: of_fit(fit_calibrated(unit)),
    "calibrated, best of 2": lambda unit: of_fit(fit_calibrated(unit, best=1)),
    "KPC, repaired": lambda unit: of_fit(fit_kpc(unit, rng=np.random.default_rng(0))),
    "Kingman": lambda unit: numbers([kingman(1.0, scv(unit), u, 0.5) for u in JUDGED]),
    "M/G/1": lambda unit: numbers([m_ph_1(1 / unit.mean(), SERVICE.scaled(u)) for u in JUDGED]),
}


def summary(errors: FloatArray) -> str:
    """Median, 90th percentile and maximum of absolute errors in percent."""
    size = 100 * np.abs(errors)
    return f"{np.median(size):.1f} / {np.quantile(size, 0.9):.0f} / {size.max():.0f}"


def in_window_and_next(iats: FloatArray, size: int) -> None:
    """The main table, for tiled windows of one size."""
    windows = [iats[a : a + size] for a in range(0, iats.size - size + 1, size)]
    truth = np.array([replayed(w / w.mean(), seed=10_000, sequences=16) for w in windows])
    table = Table(title=f"Windows of {size} IATs ({len(windows)}), Erlang-2 service; absolute errors in %")
    for column in (
        "predictor",
        "seconds (max)",
        "mean: median / q90 / max",
        "p95: median / q90 / max",
        "mean at .3   .5   .7   .8   .9",
        "next window: |log error|",
    ):
        table.add_column(column, justify="left" if column == "predictor" else "right")
    for name, predict in PREDICTORS.items():
        seconds, predictions = [], []
        for window in track(windows, description=name, transient=True):
            started = time.perf_counter()
            predictions.append(predict(window / window.mean()))
            seconds.append(time.perf_counter() - started)
        errors = np.array(predictions) / truth - 1
        ahead = np.array([np.abs(np.log(p / t)) for (p, _), (_, t) in pairwise(zip(predictions, truth, strict=True))])
        table.add_row(
            name,
            f"{np.median(seconds):.3f} ({max(seconds):.3f})",
            summary(errors[:, 0]),
            summary(errors[:, 1]),
            " ".join(f"{e:4.0f}" for e in 100 * np.median(np.abs(errors[:, 0]), axis=0)),
            f"{ahead[:, 0].mean():.2f}, {ahead[:, 1].mean():.2f}",
        )
    console.print(table)


def single_window(iats: FloatArray, where: slice, title: str, others: dict[str, Prediction]) -> None:
    """Signed errors of all predictors on one window."""
    unit = iats[where] / iats[where].mean()
    truth = replayed(unit, seed=10_000, sequences=16)
    table = Table(title=f"{title}: error of mean and p95 in % at utilization " + " ".join(f"{u:g}" for u in JUDGED))
    for column in ("predictor", "mean", "p95"):
        table.add_column(column, justify="left" if column == "predictor" else "right")
    for name, prediction in ({name: predict(unit) for name, predict in PREDICTORS.items()} | others).items():
        errors = 100 * (prediction / truth - 1)
        table.add_row(name, *(" ".join(f"{e:+5.0f}" for e in row) for row in errors))
    console.print(table)


ANCHOR_FIT = """
import contextlib, io, sys
import numpy as np
from line_solver.lib.kpctoolbox.kpcfit import kpcfit_auto, kpcfit_init
np.random.seed(0)
with contextlib.redirect_stdout(io.StringIO()), np.errstate(all="ignore"):
    D0, D1 = kpcfit_auto(kpcfit_init(np.load(sys.argv[1])))[0]
np.savez(sys.argv[2], D0=D0, D1=D1)
"""


def anchor(iats: FloatArray, limit_s: float) -> dict[str, Prediction]:
    """line-solver's own KPC fit of one window, order selection included, if it ends in time."""
    window = iats[ANCHOR_WINDOW]
    started = time.perf_counter()
    fit_calibrated(window)
    ours = time.perf_counter() - started
    console.print(f"line-solver fits one window; it has {limit_s:.0f} s ...")
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/iats.npy", window)
        command = [sys.executable, "-W", "ignore", "-c", ANCHOR_FIT, f"{folder}/iats.npy", f"{folder}/map.npz"]
        started = time.perf_counter()
        try:
            subprocess.run(command, capture_output=True, check=True, timeout=limit_s)  # noqa: S603
        except subprocess.TimeoutExpired:
            console.print(f"line-solver: no result within {limit_s:.0f} s; ours, best of five: {ours:.2f} s")
            return {}
        theirs = time.perf_counter() - started
        found = np.load(f"{folder}/map.npz")
        model = MAP(found["D0"], found["D1"])
    console.print(f"line-solver: {theirs:.0f} s; ours, best of five: {ours:.2f} s; ratio {theirs / ours:.0f}")
    return {f"line-solver ({model.states} states)": of_map(model)}


def transfer(iats: FloatArray) -> None:
    """A model calibrated with Erlang-2 service, used for other services and for split streams."""
    windows = [iats[a : a + 50_000] for a in range(0, iats.size - 50_000 + 1, 100_000)]
    fitted = [fit_calibrated(w / w.mean(), best=1).models[0].map for w in windows]
    table = Table(title="The same models in other surroundings: median absolute error of the mean in %")
    table.add_column("surroundings")
    table.add_column("at utilization " + " ".join(f"{u:g}" for u in JUDGED), justify="right")
    services = {"exponential": PH.exponential(1.0), "Erlang-4": PH.erlang(4, 1.0), "SCV 4": PH.with_moments(1.0, 4.0)}
    for name, service in services.items():
        errors = [
            of_map(m, service)[0] / replayed(w / w.mean(), seed=10_000, sequences=8, service=service)[0] - 1
            for m, w in zip(fitted, windows, strict=True)
        ]
        table.add_row(f"service {name}", " ".join(f"{e:4.0f}" for e in 100 * np.median(np.abs(errors), axis=0)))
    for keep in (0.5, 0.125):
        errors = []
        for m, w in zip(fitted, windows, strict=True):
            kept = np.flatnonzero(np.random.default_rng(5).random(w.size) < keep)
            thinned = np.diff(np.cumsum(w)[kept])
            truth = replayed(thinned / thinned.mean(), seed=10_000, sequences=8)
            errors.append(of_map(m.thinned(keep))[0] / truth[0] - 1)
        table.add_row(f"selectivity {keep}", " ".join(f"{e:4.0f}" for e in 100 * np.median(np.abs(errors), axis=0)))
    console.print(table)


FIRST_FIT = """
import sys, time
import numpy as np
from mead.queueing.fitting.calibration import fit_calibrated
iats = np.load(sys.argv[1])
seconds = []
for _ in range(4):
    started = time.perf_counter()
    fit_calibrated(iats[:50_000])
    seconds.append(time.perf_counter() - started)
previous = fit_calibrated(iats[:50_000], best=1)
warm = []
for start in range(5_000, 50_001, 5_000):
    started = time.perf_counter()
    previous = fit_calibrated(iats[start:start + 50_000], best=1, previous=previous)
    warm.append(time.perf_counter() - started)
print(seconds[0], np.median(seconds[1:]), np.median(warm))
"""


def speed(iats: FloatArray) -> None:
    """The first fit of a process, with and without compiled code on disk; later ones; a warm refit."""
    title = "One window of 50,000 IATs, best of five, seconds after the imports"
    columns = ("first fit", "later fits", "warm refit, one model, window moved by 5,000")
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/iats.npy", iats[100_000:200_000])
        console.print(fresh_process_table(title, FIRST_FIT, *columns, arguments=(f"{folder}/iats.npy",)))


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trace", type=Path, default=BELLCORE, help="a trace of at least a million arrivals")
    parser.add_argument("--anchor-limit", type=float, default=900.0, help="seconds that line-solver may take")
    parser.add_argument("--no-anchor", action="store_true", help="leave line-solver's own fit out")
    options = parser.parse_args()
    if options.trace.exists():
        iats = read_trace(options.trace).iats_s
        console.print(f"Trace: {options.trace.name}, {iats.size} IATs")
    else:
        iats = KINDS["synt"].build().generate(np.random.default_rng(0)).iats_s
        console.print(f"{options.trace} is not there: a generated trace takes its place ({iats.size} IATs).")
    speed(iats)
    in_window_and_next(iats, 50_000)
    in_window_and_next(iats, 25_000)
    transfer(iats)
    if iats.size > CLIFF_WINDOW.stop:
        single_window(iats, CLIFF_WINDOW, "A cliff window", {})
    if iats.size > ANCHOR_WINDOW.stop and not options.no_anchor:
        single_window(iats, ANCHOR_WINDOW, "The anchor's window", anchor(iats, options.anchor_limit))


if __name__ == "__main__":
    main()
