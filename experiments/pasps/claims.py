"""Check the claims of the PA-SPS paper about its tables on ours, table by table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf

from experiments.pasps.metrics import Metrics

LABELS = {"ann-repo": "ANN", "fft": "FFT", "lr": "LR", "rf": "RF", "basic": "Basic"}
"""The predictors of the paper, by their names here."""

Rows = Mapping[str, Metrics]
Measure = Callable[[Metrics], float]


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper about a table, and whether it is true of ours."""

    text: str
    holds: bool
    found: str
    """Our figures."""


def model_claims(rows: Rows) -> Sequence[Claim]:
    """Table 2."""
    five = _models(rows)
    return [
        _all_process(five, 0.99),
        _first(five, "ANN", _latency, "has the lowest latency"),
        _first(_without(five, "ANN"), "RF", _latency, "has the second lowest latency"),
        _first(five, "Basic", _latency, "has the highest latency", largest=True),
        _first(five, "ANN", _degradation, "has the lowest throughput degradation"),
        _first(five, "ANN", _saved, "saves least"),
        _first(five, "Basic", _saved, "saves most", largest=True),
        _first(five, "LR", _error, "has the smallest input error"),
        _first(five, "FFT", _error, "has the largest input error", largest=True),
        _error_is_not_latency(five),
    ]


def storm_claims(rows: Rows) -> Sequence[Claim]:
    """Table 3."""
    adaptive = _pa_sps(rows)
    one, four, eight = (rows[f"static@replicas={count}"] for count in (1, 4, 8))
    return [
        Claim("one replica processes less than half", one.processed < 0.5, f"{one.processed:.3f}"),
        Claim(
            "one replica takes minutes",
            one.latency_ms > 120_000,
            _times(one),
        ),
        Claim("four replicas process 98 % or more", four.processed >= 0.98, f"{four.processed:.3f}"),
        Claim(
            "four replicas take 1.5 to 2 times as long as eight",
            1.5 <= four.latency_ms / eight.latency_ms <= 2.05,
            _times(four, eight),
        ),
        Claim(
            "eight replicas are the fastest, process all and save nothing",
            eight.latency_ms == min(map(_latency, rows.values())) and eight.processed > 0.999 and eight.saved < 0.01,
            f"{_times(eight)}, {eight.processed:.3f}, {eight.saved:.3f}",
        ),
        Claim("PA-SPS processes all", adaptive.processed > 0.999, f"{adaptive.processed:.4f}"),
        Claim(
            "PA-SPS takes two to three times as long as eight replicas",
            2 <= adaptive.latency_ms / eight.latency_ms <= 3,
            _times(adaptive, eight),
        ),
        Claim("PA-SPS is slower than four replicas", adaptive.latency_ms > four.latency_ms, _times(adaptive, four)),
        Claim(
            "PA-SPS saves about as much as four replicas",
            abs(adaptive.saved - four.saved) < 0.05,
            f"{adaptive.saved:.3f}, {four.saved:.3f}",
        ),
    ]


def peer_claims(rows: Rows) -> Sequence[Claim]:
    """Table 4."""
    adaptive, psps, dabs = _pa_sps(rows), rows["psps"], rows["dabs"]
    return [
        Claim("DABS, which restarts, processes less than 0.9", dabs.processed < 0.9, f"{dabs.processed:.3f}"),
        Claim(
            "PSPS and PA-SPS process 0.99 or more",
            min(psps.processed, adaptive.processed) >= 0.99,
            f"{psps.processed:.3f}, {adaptive.processed:.3f}",
        ),
        Claim(
            "PSPS is more than three times slower than PA-SPS",
            psps.latency_ms > 3 * adaptive.latency_ms,
            _times(psps, adaptive),
        ),
        Claim("DABS is slower than PA-SPS", dabs.latency_ms > adaptive.latency_ms, _times(dabs, adaptive)),
        Claim("PSPS saves more than PA-SPS", psps.saved > adaptive.saved, f"{psps.saved:.3f}, {adaptive.saved:.3f}"),
        Claim("DABS saves less than PA-SPS", dabs.saved < adaptive.saved, f"{dabs.saved:.3f}, {adaptive.saved:.3f}"),
        Claim(
            "PA-SPS has less than half of the throughput degradation of PSPS",
            adaptive.degradation < 0.5 * psps.degradation,
            f"{adaptive.degradation:.3f}, {psps.degradation:.3f}",
        ),
    ]


def complex_claims(rows: Rows) -> Sequence[Claim]:
    """Table 5."""
    adaptive, fixed = _pa_sps(rows), rows["static@replicas=5"]
    cpu = [metrics.cpu_percent or 0.0 for metrics in (adaptive, fixed)]
    return [
        Claim(
            "PA-SPS processes all and saves more than 0.6",
            adaptive.processed > 0.99 and adaptive.saved > 0.6,
            f"{adaptive.processed:.3f}, {adaptive.saved:.3f}",
        ),
        Claim("throughput degradation stays below 0.05", adaptive.degradation < 0.05, f"{adaptive.degradation:.3f}"),
        Claim(
            "five replicas are more than six times faster, and save nothing",
            6 * fixed.latency_ms < adaptive.latency_ms and fixed.saved < 0.01,
            _times(fixed, adaptive),
        ),
        Claim("PA-SPS takes two thirds of the CPU or less", cpu[0] < 0.67 * cpu[1], f"{cpu[0]:.2f}, {cpu[1]:.2f} %"),
    ]


def raw_claims(rows: Rows) -> Sequence[Claim]:
    """Table 6."""
    five = _models(rows)
    network, basic = five["ANN"].latency_ms, five["Basic"].latency_ms
    return [
        _all_process(five, 0.98),
        _first(five, "ANN", _latency, "has the lowest latency"),
        _first(_without(five, "ANN"), "Basic", _latency, "has the second lowest latency"),
        Claim(
            "the latencies of ANN and Basic are less than 1 % apart",
            abs(network - basic) < 0.01 * basic,
            _times(five["ANN"], five["Basic"]),
        ),
        _first(five, "FFT", _degradation, "has the highest throughput degradation", largest=True),
        _first(five, "FFT", _error, "has the largest input error", largest=True),
        _first(five, "FFT", _latency, "has the highest latency", largest=True),
        _first(five, "FFT", _saved, "saves least"),
        _error_is_not_latency(five),
    ]


def dns_claims(rows: Rows) -> Sequence[Claim]:
    """Table 7."""
    five = _models(rows)
    return [
        _all_process(five, 0.97),
        _first(five, "FFT", _latency, "has the lowest latency"),
        _first(five, "FFT", _degradation, "has the lowest throughput degradation"),
        _first(five, "FFT", _error, "has the largest input error", largest=True),
        _first(five, "FFT", _saved, "saves least"),
        _first(five, "RF", _saved, "saves most", largest=True),
        _error_is_not_latency(five),
    ]


def log_claims(rows: Rows) -> Sequence[Claim]:
    """Table 8."""
    five = _models(rows)
    others = [metrics.saved for name, metrics in five.items() if name not in {"Basic", "RF"}]
    return [
        _all_process(five, 0.98),
        _first(five, "Basic", _latency, "has the lowest latency"),
        Claim(
            "Basic and RF save most",
            min(five["Basic"].saved, five["RF"].saved) > max(others),
            f"{five['Basic'].saved:.3f}, {five['RF'].saved:.3f}; the others {max(others):.3f} or less",
        ),
        _first(five, "FFT", _latency, "has the highest latency", largest=True),
        _first(five, "FFT", _error, "has the largest input error", largest=True),
        _error_is_not_latency(five),
    ]


def _latency(metrics: Metrics) -> float:
    return metrics.latency_ms


def _saved(metrics: Metrics) -> float:
    return metrics.saved


def _degradation(metrics: Metrics) -> float:
    return metrics.degradation


def _error(metrics: Metrics) -> float:
    return inf if metrics.input_error is None else metrics.input_error


def _models(rows: Rows) -> dict[str, Metrics]:
    """The paper's predictors, by their names in the paper."""
    return {label: rows[f"pasps@predictor={name}"] for name, label in LABELS.items()}


def _without(five: Rows, name: str) -> Rows:
    return {label: metrics for label, metrics in five.items() if label != name}


def _pa_sps(rows: Rows) -> Metrics:
    return next(metrics for system, metrics in rows.items() if system.startswith("pasps"))


def _times(*rows: Metrics) -> str:
    return ", ".join(f"{metrics.latency_ms:,.0f}" for metrics in rows) + " ms"


def _first(five: Rows, name: str, measure: Measure, predicate: str, *, largest: bool = False) -> Claim:
    """A model is the first of all by a measure, and alone."""
    ranked = sorted(five, key=lambda label: measure(five[label]), reverse=largest)
    digits = 0 if measure is _latency else 3
    found = ", ".join(f"{label} {measure(five[label]):,.{digits}f}" for label in dict.fromkeys([*ranked[:2], name]))
    alone = measure(five[ranked[0]]) != measure(five[ranked[1]])
    return Claim(f"{name} {predicate}", ranked[0] == name and alone, found)


def _all_process(five: Rows, least: float) -> Claim:
    worst = min(five, key=lambda label: five[label].processed)
    processed = five[worst].processed
    return Claim(f"every model processes {100 * least:g} % or more", processed >= least, f"{worst} {processed:.3f}")


def _error_is_not_latency(five: Rows) -> Claim:
    """Some model forecasts better than another and is slower all the same."""
    pairs = [(a, b) for a in five for b in five]
    found = next(
        ((a, b) for a, b in pairs if _error(five[a]) < _error(five[b]) and _latency(five[a]) > _latency(five[b])), None
    )
    shown = f"{found[0]} forecasts better than {found[1]} and is slower" if found else "the order is the same"
    return Claim("a smaller input error does not mean a lower latency", found is not None, shown)
