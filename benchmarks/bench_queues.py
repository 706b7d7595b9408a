"""Benchmark the queueing models, and the errors of approximate ones against simulation.

    benchmarks/bench_queues.py [--quick]

MAP/PH/1 runs beside line-solver's own solver (MMAPPH1FCFS) in the same process; goal: mean and p95 of a 16-state MAP
with Erlang-2 service within 1.5 ms. The micro-batch server and GI/G/k are compared with simulation. Times are processor
time, the best of several runs. ``--quick`` simulates a tenth of the arrivals, and leaves out what that is too few for.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.progress import track
from scipy.linalg import expm
from scipy.optimize import brentq

from mead.arrays import FloatArray
from mead.queueing import (
    MAP,
    PH,
    BatchServer,
    QueueSolution,
    ReplayResponse,
    ResponseTime,
    ServiceTimes,
    Unstable,
    gigk,
    map_ph_1,
    map_ph_1_at_utilizations,
    micro_batch,
    micro_batch_many,
    replay,
    replay_at_utilizations,
    replay_batches,
)

if TYPE_CHECKING:
    from benchmarks.common import best_s, fresh_process_table, table
else:  # run as a script, whose folder is where its imports come from
    from common import best_s, fresh_process_table, table

UTILIZATIONS = (0.3, 0.5, 0.7, 0.8, 0.9)
VECTORS = Path(__file__).parents[1] / "tests" / "vectors" / "mapph1.json"
BATCH_ARRIVALS = 8_000_000
BATCH_RUNS = 5
RELAXATIONS = 100
"""A queue forgets its past after about IDC / (1 - utilization)^2 arrivals; runs must be this many times longer."""
GIGK_ARRIVALS = 1_000_000

FIRST_CALLS = """
import time
started = time.perf_counter()
import numpy as np
from mead.queueing.ph import PH
from mead.queueing.queues.batch_server import BatchServer
from mead.queueing.queues.replay import ServiceTimes, replay, replay_batches
imported = time.perf_counter()
iats = np.full(100, 1.0)
services = ServiceTimes.drawn(PH.erlang(2, 0.5), 100, np.random.default_rng(1))
replay(iats, services, servers=2)
several = time.perf_counter()
replay_batches(iats, BatchServer(0.1, 0.5))
print(imported - started, several - imported, time.perf_counter() - several)
"""

console = Console(width=150)


def stable(solution: QueueSolution) -> ResponseTime:
    """The response time of a queue that is known to have one."""
    if isinstance(solution, Unstable):
        raise TypeError(f"a benchmark queue is unstable: {solution}")
    return solution


def bursty(states: int) -> MAP:
    """A MAP of 2, 4, 8 ... states by Kronecker composition: hyperexponential, and correlated over many scales."""
    result = MAP.two_state(1.0, 20.0)
    while result.states < states:
        result = result.composed(MAP.two_state(1.0, 6.0, ratio=2.0))
    return result.with_rate(1.0)


def bench_map_ph_1() -> None:
    """Speed of the exact queue, with line-solver beside it."""
    result = table(
        "MAP/Erlang-2/1 at utilization .7, ms (5 at once: utilizations .3 .5 .7 .8 .9 in one call, ms for all)",
        *("states", "mean", "mean + p95", "5 at once, mean", "5 at once, mean + p95"),
        *("line-solver mean", "mean + p95", "ratio", "largest difference"),
    )
    for states in (2, 4, 8, 16, 32):
        arrivals, service = bursty(states), PH.erlang(2, 0.7)
        ours = (
            1e3 * best_s(lambda a=arrivals, s=service: stable(map_ph_1(a, s)).mean_s),  # type: ignore[misc]
            1e3 * best_s(lambda a=arrivals, s=service: mean_and_p95([map_ph_1(a, s)])),  # type: ignore[misc]
            1e3 * best_s(lambda a=arrivals, s=service: means(map_ph_1_at_utilizations(a, s, UTILIZATIONS))),  # type: ignore[misc]
            1e3 * best_s(lambda a=arrivals, s=service: mean_and_p95(five_at_once(a, s))),  # type: ignore[misc]
        )
        row = [str(states), *(f"{ms:.2f}" for ms in ours)]
        result.add_row(*row, *oracle_columns(arrivals, service, ours[1]))
    console.print(result)


def five_at_once(arrivals: MAP, service: PH) -> list[QueueSolution]:
    """One queue at all utilizations, the 95th percentiles included."""
    return map_ph_1_at_utilizations(arrivals, service, UTILIZATIONS, percents=[95])


def means(solutions: list[QueueSolution]) -> list[float]:
    """What a mean requirement asks for."""
    return [stable(solution).mean_s for solution in solutions]


def mean_and_p95(solutions: list[QueueSolution]) -> list[tuple[float, float]]:
    """What a percentile requirement asks for."""
    return [(stable(solution).mean_s, stable(solution).percentile_s(95)) for solution in solutions]


def oracle_columns(arrivals: MAP, service: PH, ours_ms: float) -> list[str]:
    """line-solver's time for the mean, for mean and p95, how many times ours it is, and how far the answers differ."""
    try:
        from line_solver.lib.thirdparty.butools.queues import MMAPPH1FCFS
    except ImportError:
        return ["not installed", "", "", ""]
    D = [np.matrix(arrivals.D0), np.matrix(arrivals.D1)]
    sigma, S = [np.matrix(service.alpha)], [np.matrix(service.T)]

    def mean() -> float:
        return float(np.ravel(MMAPPH1FCFS(D, sigma, S, "stMoms", 1))[0])

    def p95() -> float:
        # It hands out the distribution as vector and matrix; the percentile is a root search on that.
        alpha, A = (np.asarray(part) for part in MMAPPH1FCFS(D, sigma, S, "stDistrPH"))
        guess = mean()
        return float(brentq(lambda t: (alpha @ expm(A * t)).sum() - 0.05, 1e-3 * guess, 100 * guess, rtol=1e-10))

    solution = stable(map_ph_1(arrivals, service))
    difference = max(abs(solution.mean_s / mean() - 1), abs(solution.percentile_s(95) / p95() - 1))
    mean_ms, both_ms = 1e3 * best_s(mean), 1e3 * best_s(p95)
    return [f"{mean_ms:.1f}", f"{both_ms:.1f}", f"{both_ms / ours_ms:.0f}x", f"{difference:.0e}"]


def bench_micro_batch(scale: float) -> None:
    """The micro-batch server: error against simulation, and time."""
    cases = {case["id"]: case for case in json.loads(VECTORS.read_text())["cases"]}
    processes = {
        "Poisson": MAP.poisson(300.0),
        "IDC 10": MAP.two_state(300.0, 10.0),
        "IDC 100": MAP.two_state(300.0, 100.0),
        "IDC 1000": MAP.two_state(300.0, 1000.0),
        "8 states": MAP(cases[36]["D0"], cases[36]["D1"]).with_rate(300.0),
        "16 states": MAP(cases[38]["D0"], cases[38]["D1"]).with_rate(300.0),
    }
    servers = [BatchServer(a, u / 300) for a, u in product((0.1, 0.01), (0.3, 0.5, 0.7, 0.9, 0.95))]
    servers += [BatchServer(0.1, u / 300, trigger_s=t) for u, t in ((0.5, 0.2), (0.5, 1.0), (0.8, 0.5))]
    servers += [BatchServer(0.1, u / 300, max_batch=n) for u, n in ((0.5, 100), (0.7, 400))]
    count = int(BATCH_ARRIVALS * scale)
    result = table(
        f"Micro-batch server, 300 tuples/s: error against simulation in %, in brackets the standard error of the "
        f"simulation ({BATCH_RUNS} runs of {count:,} arrivals; 8 and 16 states are fits of Bellcore)",
        *("arrivals", "overhead", "load", "trigger", "max", "mean, s", "batch"),
        *("mean, %", "p50, %", "p95, %", "p99, %", "ms", "ms, p95"),
    )
    errors: dict[str, list[FloatArray]] = {"no option": [], "trigger": [], "max batch": []}
    for name, arrivals in track(processes.items(), "simulating", transient=True):
        known = [s for s in servers if count > RELAXATIONS * arrivals.idc_limit / (1 - s.utilization(300.0)) ** 2]
        for server, (truth, deviation) in zip(known, simulate_batches(arrivals, known, count), strict=True):
            model = micro_batch(arrivals, server)
            if isinstance(model, Unstable):
                raise TypeError(f"a benchmark queue is unstable: {model}")
            predicted = np.array([model.mean_s, model.mean_batch, *model.percentiles_s([50, 95, 99])])
            error, noise = 100 * (predicted / truth - 1), 100 * deviation / truth
            kind = "trigger" if server.trigger_s else "max batch" if server.max_batch else "no option"
            errors[kind].append(error)
            result.add_row(
                *(name, f"{server.overhead_s:g}", f"{model.utilization:.2f}"),
                *(f"{server.trigger_s or ''}", f"{server.max_batch or ''}", f"{truth[0]:.3f}", f"{truth[1]:.1f}"),
                *(f"{error[i]:+.1f} ({noise[i]:.1f})" for i in (0, 2, 3, 4)),
                f"{1e3 * best_s(lambda a=arrivals, s=server: micro_batch(a, s), 3):.0f}",  # type: ignore[misc]
                f"{1e3 * best_s(lambda a=arrivals, s=server: stable(micro_batch(a, s)).percentile_s(95), 3):.0f}",  # type: ignore[misc]
            )
    console.print(result)
    for kind, rows in errors.items():
        absolute = np.abs(np.array(rows))
        middle, worst = np.median(absolute, axis=0), absolute.max(axis=0)
        console.print(
            f"{kind}: absolute error, median / largest: "
            f"mean {middle[0]:.1f} / {worst[0]:.1f} %, p95 {middle[3]:.1f} / {worst[3]:.1f} %"
        )
    shares = [BatchServer(0.1, 0.0015, share=share) for share in (0.5, 0.6, 0.7, 0.85, 1.0)]
    eight = processes["8 states"]
    console.print(
        f"five shares in one call, 8 states: {1e3 * best_s(lambda: micro_batch_many(eight, shares), 5):.0f} ms (means)"
    )


def simulate_batches(arrivals: MAP, servers: list[BatchServer], count: int) -> list[tuple[FloatArray, FloatArray]]:
    """Mean, batch size, p50, p95, p99 of each server, and their standard errors.

    Every run is brought to the exact mean rate, which takes out the largest part of its noise.
    """
    runs = []
    for seed in range(BATCH_RUNS):
        iats = arrivals.sample(count, np.random.default_rng(seed))
        iats *= arrivals.mean_iat_s / iats.mean()
        rows = []
        for server in servers:
            solution = replay_batches(iats, server)
            if not isinstance(solution, ReplayResponse):
                raise TypeError(f"a benchmark queue is unstable: {solution}")
            rows.append([solution.mean_s, solution.mean_batch, *solution.percentiles_s([50, 95, 99])])
        runs.append(rows)
    values = np.array(runs)
    return list(zip(values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(BATCH_RUNS), strict=True))


def bench_gigk(scale: float) -> None:
    """GI/G/k, plain and refined, against simulation."""
    count = int(GIGK_ARRIVALS * scale)
    scvs = ((0.25, 0.25), (0.25, 1.0), (1.0, 0.5), (1.0, 4.0), (0.5, 2.0), (2.0, 0.5), (4.0, 1.0), (4.0, 4.0))
    grid = list(product((1, 2, 4, 10, 30), (0.5, 0.7, 0.9), scvs))
    errors: dict[bool, list[list[float]]] = {False: [], True: []}
    for servers, utilization, (arrival_scv, service_scv) in track(grid, "simulating", transient=True):
        rng = np.random.default_rng(7)
        iats = PH.with_moments(1.0, arrival_scv).sample(count, rng)
        iats /= iats.mean()
        services = ServiceTimes.drawn(PH.with_moments(utilization * servers, service_scv), count, rng, sequences=1)
        services = ServiceTimes(services.unit / services.unit.mean(), services.mean_s)
        truth = stable(replay(iats, services, servers=servers))
        for refined, rows in errors.items():
            model = stable(gigk(1.0, arrival_scv, services.mean_s, service_scv, servers, refined=refined))
            p95 = model.percentile_s(95) / truth.percentile_s(95)
            rows.append([100 * (model.mean_s / truth.mean_s - 1), 100 * (p95 - 1)])
    result = table(
        f"GI/G/k, {len(grid)} queues of 1-30 servers, utilization .5-.9, SCVs .25-4: absolute error in %",
        *("form", "mean: median", "90th percentile", "largest", "p95: median", "90th percentile", "largest"),
    )
    for refined, rows in errors.items():
        absolute = np.abs(np.array(rows))
        figures = [f(absolute[:, c]) for c in (0, 1) for f in (np.median, lambda x: np.quantile(x, 0.9), np.max)]
        result.add_row("Whitt" if refined else "DRS eq. 5", *(f"{x:.1f}" for x in figures))
    console.print(result)


def bench_replay() -> None:
    """Replay of a 50,000-tuple window."""
    rng = np.random.default_rng(1)
    iats = MAP.two_state(330.0, 200.0).sample(50_000, rng)
    services = ServiceTimes.drawn(PH.erlang(2, 1.0), iats.size, rng)
    ten = np.linspace(0.2, 0.92, 10).tolist()
    one = services.with_mean(0.7 / 330.0)
    several = services.with_mean(2.8 / 330.0)
    result = table("Replay of 50,000 arrivals, 8 sequences of service times", "what", "ms")
    works: dict[str, Callable[[], object]] = {
        "one server, mean": lambda: stable(replay(iats, one)).mean_s,
        "one server, mean and p95": lambda: mean_and_p95([replay(iats, one)]),
        "one server, mean and p95 at 10 utilizations": lambda: mean_and_p95(
            replay_at_utilizations(iats, services, ten)
        ),
        "4 servers, mean and p95": lambda: mean_and_p95([replay(iats, several, servers=4)]),
        "micro-batches (one sequence), mean and p95": lambda: mean_and_p95(
            [replay_batches(iats, BatchServer(0.1, 0.7 / 330))]
        ),
    }
    for name, work in works.items():
        result.add_row(name, f"{1e3 * best_s(work, 9):.1f}")
    console.print(result)


def bench_compile() -> None:
    """What the compiled replays cost a fresh process. No other model of a queue is compiled."""
    columns = ("imports, s", "first replay, several servers, s", "first batches, s")
    console.print(fresh_process_table("Fresh process", FIRST_CALLS, *columns))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="simulate a tenth of the arrivals")
    scale = 0.1 if parser.parse_args().quick else 1.0
    bench_map_ph_1()
    bench_replay()
    bench_compile()
    bench_gigk(scale)
    bench_micro_batch(scale)
