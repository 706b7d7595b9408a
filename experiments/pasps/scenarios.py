"""The applications of the PA-SPS paper, and arrivals like those that its authors publish.

The paper gives neither execution times nor traces; the authors' application (storm-app-experiment) gives both in part.

- Its four operators of the Twitter application loop over arrays of 50, 100, 75 and 50 thousand numbers, those of the
  complex one over 10, 50, 10, 10, 20, 50, 20 and 10 thousand: this gives the ratios of the demands. One number is left,
  the time of a thousand. It is chosen so that four and eight replicas take as long as in Table 3.
- Its source sends all tuples of a second at once. So a mean wait of a few hundred milliseconds comes from the second
  and not from randomness: with Poisson arrivals, four replicas would take a few service times, not the paper's 270 ms.
- Its rates are files. The smooth stream here goes through the turning points of the authors' file; the others have
  mean, deviation and memory of theirs. The raw Twitter rates of the authors are their log rates times 3/4.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np

from mead.arrays import FloatArray
from mead.queueing import Edge
from mead.values import Operator, Pipeline
from mead.workload import Trace

DURATION_S = 1320
"""22 minutes, as in the authors' program."""

SENDING_S = 2e-5
"""Time in which the source sends one tuple: ours, far below any demand."""

Rates = Callable[[np.random.Generator], FloatArray]
"""Arrivals per second, second by second."""


@dataclass(frozen=True, eq=False)
class Scenario:
    """An application and its arrivals."""

    name: str
    title: str
    pipeline: Pipeline
    rates_per_s: Rates = field(repr=False)

    @property
    def r_over(self) -> int:
        """Replicas of a system that is never too small."""
        return sum(operator.max_replicas for operator in self.pipeline.operators)

    def trace(self, seed: int, duration_s: int = DURATION_S) -> Trace:
        """Arrivals at the rates of the stream, a second's at its start; a shorter stream is the first part."""
        rates = self.rates_per_s(np.random.default_rng(seed))[:duration_s]
        counts = np.rint(rates).astype(np.int64)
        second = np.repeat(np.arange(counts.size), counts)
        place = np.arange(second.size) - np.repeat(np.cumsum(counts) - counts, counts)
        return Trace.from_timestamps_s(second + SENDING_S * place)


def chain(name: str, replicas: int, **demands_s: float) -> Pipeline:
    """Operators in a row, each with a pool of as many replicas of one core."""
    operators = [Operator(o, d, 0.0, (1.0,), max_replicas=replicas) for o, d in demands_s.items()]
    edges = [Edge(a.name, b.name) for a, b in pairwise(operators)]
    return Pipeline(name, operators, edges)


THOUSAND_S = 3.1e-5
"""Time in which an operator goes through a thousand numbers; see the top of this module."""

TWITTER = chain(
    "twitter", 8, parse=50 * THOUSAND_S, spam=100 * THOUSAND_S, classify=75 * THOUSAND_S, save=50 * THOUSAND_S
)
DNS = chain("dns", 3, parse=0.0011, match=0.0017, classify=0.0014, save=0.0011)
LOGS = chain("logs", 8, parse=0.0012, template=0.0018, classify=0.0016, save=0.0014)
"""The demands of DNS and logs are ours: replicas are saved about as in Tables 7 and 8."""


def _news() -> Pipeline:
    """Fig. 11: what is no spam is about users or about news, and some news are rated before their topic is found."""
    thousands = {
        "parse": 10,
        "spam": 50,
        "users": 10,
        "notify": 10,
        "news": 20,
        "sentiment": 50,
        "topic": 20,
        "save": 10,
    }
    edges = [
        Edge("parse", "spam"),
        Edge("spam", "users", 0.4),
        Edge("spam", "news", 0.5),
        Edge("users", "notify"),
        Edge("notify", "save"),
        Edge("news", "topic", 0.5),
        Edge("news", "sentiment", 0.5),
        Edge("sentiment", "topic"),
        Edge("topic", "save"),
    ]
    return Pipeline(
        "news", [Operator(o, n * THOUSAND_S, 0.0, (1.0,), max_replicas=5) for o, n in thousands.items()], edges
    )


NEWS = _news()

TURNS = (
    *((0, 70), (36, 193), (108, 676), (144, 835), (180, 835), (216, 703), (273, 410), (303, 243), (331, 245)),
    *((400, 481), (437, 739), (473, 914), (509, 914), (545, 769), (610, 404), (684, 204), (720, 205), (760, 401)),
    *((808, 865), (859, 1278), (895, 1278), (931, 1071), (1000, 533), (1040, 346), (1076, 204), (1120, 236)),
    *((1188, 500), (1224, 615), (1260, 615), (1320, 428), (1360, 283), (1430, 124)),
)
"""Second and rate where the authors' smooth stream turns: "a combination of traffic spikes and under spikes"."""


def smooth_rates(rng: np.random.Generator) -> FloatArray:
    """Slow hills, without noise but for a shift of the whole by a few seconds."""
    seconds, rates = zip(*TURNS, strict=True)
    return np.asarray(np.interp(np.arange(DURATION_S) + rng.uniform(0.0, 20.0), seconds, rates))


def raw_rates(rng: np.random.Generator) -> FloatArray:
    """Raw Twitter: no hills, bursts of seconds."""
    return 0.75 * log_like_rates(rng)


def spike_rates(rng: np.random.Generator) -> FloatArray:
    """DNS: spikes of seconds, up to seven times the mean."""
    quick = wandering(rng, DURATION_S, sigma=0.64, memory=0.28)
    return 649.0 * quick * wandering(rng, DURATION_S, sigma=0.38, memory=0.96)


def log_like_rates(rng: np.random.Generator) -> FloatArray:
    """System logs: bursts of seconds on a slowly moving level."""
    quick = wandering(rng, DURATION_S, sigma=0.52, memory=0.44)
    return 1979.0 * quick * wandering(rng, DURATION_S, sigma=0.15, memory=0.99)


def wandering(rng: np.random.Generator, seconds: int, *, sigma: float, memory: float) -> FloatArray:
    """Factors of mean 1 whose logarithm is an AR(1) process of that deviation and correlation from second to second."""
    steps = rng.normal(0.0, sigma * np.sqrt(1 - memory**2), seconds)
    steps[0] = rng.normal(0.0, sigma)
    walk = np.empty(seconds)
    level = 0.0
    for second, step in enumerate(steps.tolist()):
        level = memory * level + step
        walk[second] = level
    return np.asarray(np.exp(walk - sigma**2 / 2))


SMOOTH = Scenario("smooth", "smoothed Twitter", TWITTER, smooth_rates)
RAW = Scenario("raw", "raw Twitter (generated)", TWITTER, raw_rates)
SPIKES = Scenario("dns", "DNS (generated)", DNS, spike_rates)
LOG_LIKE = Scenario("logs", "system logs (generated)", LOGS, log_like_rates)
COMPLEX = Scenario("complex", "complex application, smoothed Twitter", NEWS, smooth_rates)


class RatesError(ValueError):
    """A file is not a list of rates. The message says where, and what is wrong."""


def logs_from(path: Path) -> Scenario:
    """The log scenario at the rates of a file: CSV with a header, the rate of every second in column ``value``."""
    try:
        with path.open(newline="") as file:
            rates = np.array([float(row["value"]) for row in csv.DictReader(file)])
    except OSError as error:
        raise RatesError(f"{path}: cannot be read ({error.strerror or error})") from error
    except (KeyError, TypeError, ValueError) as error:
        raise RatesError(f"{path}: needs a column `value` with a number for every second; {error}") from error
    if rates.size < 2 or not (np.isfinite(rates).all() and (rates >= 0).all()):
        raise RatesError(f"{path}: holds no rates; they are finite numbers from 0 up, two at least")
    return Scenario("logs", f"system logs ({path.name})", LOGS, partial(_given, rates))


def _given(rates: FloatArray, _rng: np.random.Generator) -> FloatArray:
    """Rates of a file; a function with a name, so that other processes can be told."""
    return rates
