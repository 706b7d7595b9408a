"""The applications of the PA-SPS paper, and arrivals like those that it describes.

The paper gives neither execution times nor traces. Demands are chosen so that static replicas fare as in its Table 3:
one of each serves about a third of what comes, eight are more than enough. The smooth stream has the range of the one
that the authors publish (70 to 1,278/s); the rates of the log scenario can be given as a file, their own for instance.
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
from mead.workload import Steps, Trace

DURATION_S = 1320
"""22 minutes, as in the authors' program."""

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
        """Poisson arrivals at the rates of the stream, of which a shorter one is the first part."""
        rng = np.random.default_rng(seed)
        rates = self.rates_per_s(rng)[:duration_s]
        return Steps(rates_per_s=tuple(rates.tolist()), step_s=1.0).generate(rng)


def chain(name: str, replicas: int, **demands_s: float) -> Pipeline:
    """Operators in a row, each with a pool of as many replicas of one core."""
    operators = [Operator(o, d, 1.0, (1.0,), max_replicas=replicas) for o, d in demands_s.items()]
    edges = [Edge(a.name, b.name) for a, b in pairwise(operators)]
    return Pipeline(name, operators, edges)


TWITTER = chain("twitter", 8, parse=0.0050, spam=0.0060, classify=0.0055, save=0.0050)
DNS = chain("dns", 3, parse=0.0040, match=0.0060, classify=0.0050, save=0.0040)
LOGS = chain("logs", 8, parse=0.0012, template=0.0018, classify=0.0016, save=0.0014)


def _news() -> Pipeline:
    """Fig. 11: what is no spam is about users or about news, and some news are rated before their topic is found."""
    demands_s = {
        "parse": 0.0010,
        "spam": 0.0016,
        "users": 0.0020,
        "notify": 0.0020,
        "news": 0.0020,
        "sentiment": 0.0060,
        "topic": 0.0030,
        "save": 0.0012,
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
    return Pipeline("news", [Operator(o, d, 1.0, (1.0,), max_replicas=5) for o, d in demands_s.items()], edges)


NEWS = _news()

LOWEST_PER_S, HIGHEST_PER_S = 70.0, 1278.0
HILLS = ((140, 640, 45), (370, 1208, 65), (560, 380, 40), (740, 900, 55), (960, 520, 40), (1130, 1150, 60))
"""Middle and width in s, height in 1/s: "a combination of traffic spikes and under spikes"."""


def smooth_rates(rng: np.random.Generator) -> FloatArray:
    """Slow hills, without noise but for a shift of the whole by a few seconds."""
    time_s = np.arange(DURATION_S) + rng.uniform(0.0, 20.0)
    hills = sum(height * np.exp(-(((time_s - middle) / width) ** 2) / 2) for middle, height, width in HILLS)
    return np.asarray(np.clip(LOWEST_PER_S + hills, LOWEST_PER_S, HIGHEST_PER_S))


def raw_rates(rng: np.random.Generator) -> FloatArray:
    """The same hills under noise that lasts for some seconds."""
    return smooth_rates(rng) * wandering(rng, DURATION_S, sigma=0.35, memory=0.9)


def spike_rates(rng: np.random.Generator) -> FloatArray:
    """DNS: a flat stream with spikes of a few seconds, about two a minute."""
    rates = 110.0 * wandering(rng, DURATION_S, sigma=0.15, memory=0.95)
    for start in np.flatnonzero(rng.random(DURATION_S) < 1 / 30):
        rates[start : start + rng.integers(2, 9)] *= rng.uniform(2.0, 5.0)
    return rates


def log_like_rates(rng: np.random.Generator) -> FloatArray:
    """In place of the authors' log rates: their mean, deviation and memory over a second and over minutes."""
    quick = wandering(rng, DURATION_S, sigma=0.58, memory=0.45)
    return 1637.0 * quick * wandering(rng, DURATION_S, sigma=0.22, memory=0.99)


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


SMOOTH = Scenario("smooth", "smoothed Twitter (generated hills)", TWITTER, smooth_rates)
RAW = Scenario("raw", "raw Twitter (the same under noise)", TWITTER, raw_rates)
SPIKES = Scenario("dns", "DNS (generated spikes)", DNS, spike_rates)
LOG_LIKE = Scenario("logs", "system logs (generated, like the authors' rates)", LOGS, log_like_rates)
COMPLEX = Scenario("complex", "complex application (generated hills)", NEWS, smooth_rates)


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
