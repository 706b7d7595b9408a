"""What KPC matches in windows of a trace, and the queue that its models predict.

Every window is fitted by KPC with the published choice of the order, by KPC with up to sixteen states, and by the
default fitter. Each model is compared with its window twice: by the statistics that KPC matches, and by the mean
response time of a queue with Erlang-2 service, which a replay of the window gives. The window before shows how
far the statistics of the same traffic are apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from rich.table import Table

from experiments.mead_paper.kpc_order import choose_order
from mead.arrays import FloatArray
from mead.queueing import (
    MAP,
    PH,
    QueueSolution,
    ServiceTimes,
    Unstable,
    acf,
    fit_calibrated,
    fit_kpc,
    map_ph_1_at_utilizations,
    replay_at_utilizations,
    scv,
)
from mead.queueing.fitting.kpc.targets import Targets, joint_moment, measured
from mead.reports.tables import number, plain_table

UTILIZATIONS = (0.3, 0.5, 0.7, 0.8)
JUDGED = UTILIZATIONS.index(0.7)
SERVICE = PH.erlang(2, 1.0)
STATES = 16
BEST = 5

ORDERED, FOUND, WORST, CALIBRATED, BEFORE = (
    "KPC, as ordered",
    "KPC, best",
    "KPC, worst",
    "calibrated",
    "window before",
)


@dataclass(frozen=True)
class Match:
    """One model of a window, or the window before, beside the window."""

    name: str
    models: int
    """Distinct models that the fitter found, of five."""
    states: int
    correlation: float
    """``||rho - rho_model||_1 / ||rho||_2``, the first part of KPC's objective."""
    scv: float
    """In parts of the window's, as the next one."""
    third_moment: float
    joint: float
    """Relative error of the third-order joint moments, KPC's second objective."""
    response: tuple[float, ...]
    """Predicted mean response time in parts of the replayed one, by utilization."""


@dataclass(frozen=True)
class WindowMatches:
    """All models of one window."""

    start: int
    size: int
    replayed_s: tuple[float, ...]
    matches: tuple[Match, ...]


@dataclass(frozen=True)
class TraceMatches:
    """All windows of one trace; the last one ends with the trace."""

    trace: str
    windows: tuple[WindowMatches, ...]

    def as_json(self) -> dict[str, Any]:
        """One entry of ``traces``."""
        return asdict(self)

    def of(self, name: str) -> list[Match]:
        """The same model in all windows."""
        return [match for window in self.windows for match in window.matches if match.name == name]


def starts_of(tuples: int, size: int) -> list[int]:
    """Where windows begin: side by side from the start of the trace, and the last one at its end.

    >>> starts_of(12, 5)
    [0, 5, 7]
    """
    return sorted({*range(0, tuples - size + 1, size), max(tuples - size, 0)})


def window_matches(iats_s: FloatArray, start: int, size: int, *, seed: int) -> WindowMatches:
    """Fit one window, predict, and compare."""
    window_s = iats_s[start : start + size]
    mean_s = float(window_s.mean())
    unit = window_s / mean_s
    targets, rng = measured(unit), np.random.default_rng(seed)
    services = ServiceTimes.drawn(SERVICE, unit.size, rng)
    replayed = _means(replay_at_utilizations(unit, services, UTILIZATIONS))

    def match(name: str, models: Sequence[MAP], found: int) -> Match:
        predicted = np.array([_means(map_ph_1_at_utilizations(model, SERVICE, UTILIZATIONS)) for model in models])
        model = models[int(predicted[:, JUDGED].argmax())]
        statistics = (model.scv, model.moment(3) / 6.0, model.acf(targets.lags), _joint_moments(model, targets))
        return _match(name, found, model.states, targets, statistics, predicted.max(axis=0) / replayed)

    blocks = choose_order(acf(unit, range(1, unit.size // 10 + STATES)), STATES).blocks
    ordered = [one.map for one in fit_kpc(unit, best=BEST, blocks=blocks, rng=np.random.default_rng(seed)).models]
    kpc = [one.map for one in fit_kpc(unit, best=BEST, max_states=STATES, rng=np.random.default_rng(seed)).models]
    calibrated = [one.map for one in fit_calibrated(unit, best=BEST, seed=seed).models]
    matches = [
        match(ORDERED, ordered[:1], len(ordered)),
        match(FOUND, kpc[:1], len(kpc)),
        match(WORST, kpc, len(kpc)),
        match(CALIBRATED, calibrated[:1], len(calibrated)),
    ]
    if start >= size:
        other = iats_s[start - size : start] / iats_s[start - size : start].mean()
        joint = np.array([joint_moment(other, int(i), int(j)) for i, j in targets.joint_lags])
        statistics = (scv(other), float((other**3).mean()) / 6.0, acf(other, targets.lags), joint)
        response = _means(replay_at_utilizations(other, services, UTILIZATIONS)) / replayed
        matches.append(_match(BEFORE, 0, 0, targets, statistics, response))
    return WindowMatches(start, unit.size, tuple((replayed * mean_s).tolist()), tuple(matches))


def _match(
    name: str,
    models: int,
    states: int,
    targets: Targets,
    statistics: tuple[float, float, FloatArray, FloatArray],
    response: FloatArray,
) -> Match:
    variation, third, rho, joint = statistics
    return Match(
        name,
        models,
        states,
        float(np.abs(rho - targets.rho).sum() / np.linalg.norm(targets.rho)),
        variation / targets.scv,
        third / targets.third,
        float(np.linalg.norm(joint - targets.joint) / np.linalg.norm(targets.joint)),
        tuple(response.tolist()),
    )


def _means(solutions: Sequence[QueueSolution]) -> FloatArray:
    """Mean response times; no utilization is near 1."""
    return np.array([solution.mean_s for solution in solutions if not isinstance(solution, Unstable)])


def _joint_moments(model: MAP, targets: Targets) -> FloatArray:
    """``E[X_0 X_i X_{i+j}]`` of a MAP, from its matrices."""
    visits, chain = np.linalg.inv(-model.D0), model.embedded_chain
    powers = {int(lag): np.linalg.matrix_power(chain, int(lag)) for lag in np.unique(targets.joint_lags)}
    start = model.arrival_stationary @ visits
    return np.array([(start @ powers[i] @ visits @ powers[j] @ visits).sum() for i, j in targets.joint_lags.tolist()])


NOTE = (
    "KPC, as ordered: the published choice of the number of states; best: up to 16 states; worst: the longest response "
    "of its MAPs, at most five. acf: ||difference||_1 / ||acf||_2; joint: error of the joint third moments. @: mean "
    "response time at that utilization over the replayed one."
)


def kpc_tables(traces: Sequence[TraceMatches]) -> Iterator[Table | str]:
    """The last window of every trace, all of its windows, and the conclusion."""
    for one in traces:
        last = one.windows[-1]
        columns = ("MAPs", "states", "acf", "SCV", "E[X³]", "joint", *(f"@{u:g}" for u in UTILIZATIONS))
        title = f"{one.trace}, the last {last.size:,} IATs: statistics and response time, window = 1"
        table = _named(plain_table(title, "model", *columns))
        for match in last.matches:
            parts = (f"{value:.2f}" for value in match.response)
            counts = (str(match.models or ""), str(match.states or ""))
            moments = (f"{match.scv:.2f}", f"{match.third_moment:.2f}", f"{match.joint:.0%}")
            table.add_row(match.name, *counts, f"{match.correlation:.2f}", *moments, *parts)
        replayed = ", ".join(
            f"{number(1000 * mean_s)} ms at {u:g}" for mean_s, u in zip(last.replayed_s, UTILIZATIONS, strict=True)
        )
        table.caption, table.caption_justify = f"Replayed: {replayed}.", "left"
        yield table
        yield _all_windows(one)
        yield conclusion(one)
    yield NOTE


def _named(table: Table) -> Table:
    table.columns[0].no_wrap = True
    return table


def _all_windows(one: TraceMatches) -> Table:
    title = f"{one.trace}, {len(one.windows)} windows: factor off, median; predicted / replayed at 0.7, range"
    columns = ("MAPs", "acf", "joint", *(f"@{u:g}" for u in UTILIZATIONS), "lowest", "highest")
    table = _named(plain_table(title, "model", *columns))
    for name in (ORDERED, FOUND, WORST, CALIBRATED, BEFORE):
        if matches := one.of(name):
            responses = np.array([match.response for match in matches])
            off = np.exp(np.median(np.abs(np.log(responses)), axis=0))
            models = f"{np.mean([match.models for match in matches]):.1f}" if matches[0].models else ""
            medians = [float(np.median([getattr(m, key) for m in matches])) for key in ("correlation", "joint")]
            ends = (responses[:, JUDGED].min(), responses[:, JUDGED].max())
            table.add_row(
                name,
                models,
                f"{medians[0]:.2f}",
                f"{medians[1]:.0%}",
                *(f"{value:.2f}" for value in off),
                *(f"{value:.2f}" for value in ends),
            )
    return table


def conclusion(one: TraceMatches) -> str:
    """Whether the models that match the statistics best also predict the queue best."""
    pairs = list(zip(one.of(FOUND), one.of(CALIBRATED), strict=True))
    closer = sum(kpc.correlation < calibrated.correlation for kpc, calibrated in pairs)
    worse = sum(_off(kpc) > _off(calibrated) for kpc, calibrated in pairs)
    return (
        f"{one.trace}: KPC matches the autocorrelation better than the calibrated MAP in {closer} of {len(pairs)} "
        f"windows, and predicts the response time at 0.7 worse in {worse}."
    )


def _off(match: Match) -> float:
    return abs(float(np.log(match.response[JUDGED])))
