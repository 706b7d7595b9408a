"""Check the claims of the PA-SPS paper about its tables on ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf

from experiments.pasps.metrics import Metrics

FIVE = ("ann-repo", "fft", "lr", "rf", "basic")
"""The predictors of the paper."""


@dataclass(frozen=True)
class Claim:
    """A sentence about a table, and whether it is true of ours."""

    text: str
    holds: bool


def _of_paper(rows: Mapping[str, Metrics]) -> dict[str, Metrics]:
    """The paper's predictors, by name."""
    named = {system.removeprefix("pasps@predictor="): metrics for system, metrics in rows.items()}
    return {name: named[name] for name in FIVE if name in named}


def _error(metrics: Metrics) -> float:
    return inf if metrics.input_error is None else metrics.input_error


def model_claims(rows: Mapping[str, Metrics]) -> Sequence[Claim]:
    """Table 2."""
    five = _of_paper(rows)
    quickest = min(five, key=lambda name: five[name].latency_ms)
    return [
        *_adaptive(five, saved=(0.4, 0.7)),
        Claim("ANN has the lowest latency", quickest == "ann-repo"),
        Claim("ANN saves least: its low latency is bought with replicas", _least_saved(five) == "ann-repo"),
        Claim("Basic has the highest latency", max(five, key=lambda name: five[name].latency_ms) == "basic"),
        _error_is_not_latency(five),
        Claim("LR has the smallest input error", min(five, key=lambda name: _error(five[name])) == "lr"),
        Claim("Basic saves most", max(five, key=lambda name: five[name].saved) == "basic"),
    ]


def storm_claims(rows: Mapping[str, Metrics]) -> Sequence[Claim]:
    """Table 3."""
    adaptive = next(metrics for system, metrics in rows.items() if system.startswith("pasps"))
    one, four, eight = (rows[f"static@replicas={count}"] for count in (1, 4, 8))
    return [
        Claim("one replica collapses: it processes less than half", one.processed < 0.5),
        Claim("one replica is by far the slowest", one.latency_ms > 10 * max(adaptive.latency_ms, eight.latency_ms)),
        Claim("eight replicas are the fastest and save nothing", _fastest(rows) == eight and eight.saved < 0.01),
        Claim("PA-SPS processes all and saves 0.4 to 0.7", adaptive.processed > 0.99 and 0.4 <= adaptive.saved <= 0.7),
        Claim("four replicas process 98 % or more", four.processed >= 0.98),
        Claim("four replicas are faster than PA-SPS", four.latency_ms < adaptive.latency_ms),
    ]


def peer_claims(rows: Mapping[str, Metrics]) -> Sequence[Claim]:
    """Table 4."""
    adaptive = next(metrics for system, metrics in rows.items() if system.startswith("pasps"))
    psps, dabs = rows["psps"], rows["dabs"]
    return [
        Claim("the system that restarts loses events: it processes less than 0.9", dabs.processed < 0.9),
        Claim("PSPS and PA-SPS process all", min(psps.processed, adaptive.processed) > 0.98),
        Claim("PSPS is several times slower than PA-SPS", psps.latency_ms > 3 * adaptive.latency_ms),
        Claim("PSPS saves more than PA-SPS", psps.saved > adaptive.saved),
        Claim("DABS saves less than PA-SPS", dabs.saved < adaptive.saved),
        Claim("DABS is slower than PA-SPS", dabs.latency_ms > adaptive.latency_ms),
    ]


def complex_claims(rows: Mapping[str, Metrics]) -> Sequence[Claim]:
    """Table 5."""
    adaptive = next(metrics for system, metrics in rows.items() if system.startswith("pasps"))
    fixed = rows["static@replicas=5"]
    return [
        Claim("PA-SPS processes all and saves more than 0.6", adaptive.processed > 0.99 and adaptive.saved > 0.6),
        Claim(
            "five replicas are faster and save nothing", fixed.latency_ms < adaptive.latency_ms and fixed.saved < 0.01
        ),
        Claim("throughput degradation stays below 0.05", adaptive.degradation < 0.05),
    ]


def dataset_claims(rows: Mapping[str, Metrics]) -> Sequence[Claim]:
    """Tables 6 to 8."""
    five = _of_paper(rows)
    return [
        *_adaptive(five, saved=(0.15, 0.7)),
        Claim("FFT saves least", _least_saved(five) == "fft"),
        Claim("FFT has the largest input error", max(five, key=lambda name: _error(five[name])) == "fft"),
        Claim("RF or Basic has the smallest input error", min(five, key=lambda n: _error(five[n])) in {"rf", "basic"}),
        _error_is_not_latency(five),
        Claim("ANN is faster than RF", five["ann-repo"].latency_ms < five["rf"].latency_ms),
    ]


def _adaptive(five: Mapping[str, Metrics], saved: tuple[float, float]) -> list[Claim]:
    return [
        Claim("every model processes 97 % or more", all(m.processed >= 0.97 for m in five.values())),
        Claim(
            f"every model saves {saved[0]:g} to {saved[1]:g}",
            all(saved[0] <= m.saved <= saved[1] for m in five.values()),
        ),
    ]


def _error_is_not_latency(five: Mapping[str, Metrics]) -> Claim:
    """Some model foresees better than another and is slower all the same."""
    pairs = [(a, b) for a in five.values() for b in five.values()]
    return Claim(
        "a smaller input error does not mean a lower latency",
        any(_error(a) < _error(b) and a.latency_ms > b.latency_ms for a, b in pairs),
    )


def _least_saved(rows: Mapping[str, Metrics]) -> str:
    return min(rows, key=lambda name: rows[name].saved)


def _fastest(rows: Mapping[str, Metrics]) -> Metrics:
    return min(rows.values(), key=lambda metrics: metrics.latency_ms)
