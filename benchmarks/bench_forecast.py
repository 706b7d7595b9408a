"""Benchmark forecasts of arrivals: errors, exceedances and cost.

Rolling origins over the Bellcore trace, in bins of 1 s and of 100 ms: 100 bins are known, the mean of the next 30 is
asked for, the only number that equation 4 of PA-SPS uses. And over the authors' log rates and generated hills in the
form of their program, 12 bins of 5 s for the next 6. Recorded data are read from ``../shared/data`` where they are.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console

from mead.arrays import FloatArray
from mead.queueing import PREDICTORS, Predictor, forecaster

if TYPE_CHECKING:
    from benchmarks.common import table
else:  # run as a script, whose folder is where its imports come from
    from common import table

DATA = Path(__file__).parents[2] / "shared" / "data"
ORIGINS = 210
RESAMPLES, BLOCK = 2000, 10
"""Resamples and block length of the bootstrap: neighbouring origins share most of their bins, so blocks are drawn."""


@dataclass(frozen=True, eq=False)
class Series:
    """Counts per bin, and how they are looked at."""

    title: str
    counts: FloatArray
    window: int
    steps: int

    @property
    def origins(self) -> list[int]:
        """The bins from which forecasts are made, evenly spread."""
        last = self.counts.size - self.steps
        evenly = np.linspace(self.window, last, min(ORIGINS, last - self.window + 1))
        return [int(origin) for origin in np.unique(evenly.astype(int))]


@dataclass(frozen=True, eq=False)
class Score:
    """Errors of one forecaster at every origin."""

    first: FloatArray
    """Relative error of the first step; NaN where nothing came."""
    mean: FloatArray
    covered: FloatArray
    ms: float


def series() -> Iterator[Series]:
    """What is there."""
    bellcore, logs = DATA / "bc-paug89.parquet", DATA / "pasps-log-rates.csv"
    if bellcore.exists():
        from mead.workload import read_trace

        stamps_us = read_trace(bellcore).timestamps_us
        stamps_us = stamps_us - stamps_us[0]
        for title, bin_us in (("Bellcore, 1 s, 100 -> 30", 1_000_000), ("Bellcore, 100 ms, 100 -> 30", 100_000)):
            yield Series(title, np.bincount(stamps_us // bin_us)[:-1].astype(np.float64), 100, 30)
        fives = np.bincount(stamps_us // 5_000_000)[:-1].astype(np.float64)
        yield Series("Bellcore, 5 s, 12 -> 6", fives, 12, 6)
    else:
        print(f"{bellcore.name} is not there: without it")
    if logs.exists():
        with logs.open(newline="") as file:
            rates = np.array([float(row["value"]) for row in csv.DictReader(file)])
        yield Series("the authors' log rates, 5 s, 12 -> 6", fives_of(rates), 12, 6)
    else:
        print(f"{logs.name} is not there: without it")
    rng = np.random.default_rng(1)
    yield Series("generated hills, 5 s, 12 -> 6", fives_of(rng.poisson(hills(rng)).astype(np.float64)), 12, 6)


HILLS = ((140, 640, 45), (370, 1208, 65), (560, 380, 40), (740, 900, 55), (960, 520, 40), (1130, 1150, 60))
"""Middle and width in s, height in 1/s."""


def hills(rng: np.random.Generator) -> FloatArray:
    """Rates of 22 minutes, second by second: slow hills between 70 and 1,278/s, shifted by a few seconds."""
    time_s = np.arange(1320) + rng.uniform(0.0, 20.0)
    heights = sum(height * np.exp(-(((time_s - middle) / width) ** 2) / 2) for middle, height, width in HILLS)
    return np.asarray(np.clip(70.0 + heights, 70.0, 1278.0))


def fives_of(rates: FloatArray) -> FloatArray:
    """Sums of five."""
    return np.asarray(rates[: rates.size // 5 * 5].reshape(-1, 5).sum(axis=1))


def score(name: Predictor, data: Series) -> Score:
    """Ask one forecaster at every origin."""
    one = forecaster(name, window=data.window, steps=data.steps)
    first, mean, covered, spent_s, seen = [], [], [], 0.0, 0
    for origin in data.origins:
        started = time.process_time()
        one.observe(data.counts[seen:origin])
        ahead = np.maximum(one.forecast(data.steps), 0.0)
        spent_s += time.process_time() - started
        seen = origin
        actual = data.counts[origin : origin + data.steps]
        first.append(abs(ahead[0] - actual[0]) / actual[0] if actual[0] else np.nan)
        mean.append(abs(ahead.mean() - actual.mean()) / actual.mean())
        covered.append(float(actual.mean() <= ahead.mean()))
    return Score(np.array(first), np.array(mean), np.array(covered), 1000 * spent_s / len(data.origins))


def interval(differences: FloatArray) -> tuple[float, float]:
    """The 95 % interval of the mean difference, by block bootstrap."""
    rng = np.random.default_rng(1)
    blocks = -(-differences.size // BLOCK)
    starts = rng.integers(0, max(differences.size - BLOCK, 1), (RESAMPLES, blocks))
    drawn = (starts[:, :, None] + np.arange(BLOCK)).reshape(RESAMPLES, -1)[:, : differences.size]
    low, high = np.percentile(differences[np.minimum(drawn, differences.size - 1)].mean(axis=1), [2.5, 97.5])
    return float(low), float(high)


def main() -> None:
    """Print one table for each series."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="without neural network and forest")
    slow = {"ann", "ann-repo", "rf"} if parser.parse_args().quick else set()
    for data in series():
        shown = table(
            f"{data.title}, {len(data.origins)} origins",
            "forecaster",
            "1st step",
            "mean",
            "to basic",
            "95 %",
            "cover",
            "ms",
        )
        basic = score("basic", data)
        for name in PREDICTORS:
            if name in slow:
                continue
            one = score(name, data)
            low, high = interval(one.mean - basic.mean)
            shown.add_row(
                name,
                f"{np.nanmean(one.first):.3f}",
                f"{one.mean.mean():.3f}",
                f"{(one.mean - basic.mean).mean():+.3f}",
                f"{low:+.3f} {high:+.3f}",
                f"{one.covered.mean():.2f}",
                f"{one.ms:.2f}",
            )
        Console().print(shown)


if __name__ == "__main__":
    main()
