"""Advice for a query: the response times at other sizes, the cheapest size that meets a bound, and how sure that is.

The recorded arrivals are replayed through the micro-batch server that was learned for each size. The spread of a
prediction comes from doing this again without each fifth of the recording (jackknife).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mead.arrays import FloatArray
from mead.queueing import ReplayResponse, replay_batches
from mead.reports.advice.query_record import LEAST_BATCHES, Latency, QueryRecord
from mead.reports.advice.server import BatchTimes, LearnedServer, cores_of, sizes, slots_of
from mead.reports.judge import statistic_s
from mead.values import Requirement

HOURS_PER_MONTH = 730.0
PERCENTS = (50.0, 95.0, 99.0)

PARTS = 5
"""Parts of the recording, each of which is left out once."""

SATURATED = 0.9
"""Above this part of the capacity, the source may have sent less than it wanted to."""

MANY_BATCHES, WIDE = 50, 0.25
"""Fewer micro-batches, or a spread wider than this part of the prediction, make the advice unsure."""

FAR = 4.0
"""Sizes that differ more than this many times from the recorded one are extrapolated."""

OFF = 0.3
"""A model that is further off at the recorded size makes the advice unsure."""

BURSTY = 4.0
"""Dispersion above which arrivals are called bursty."""


@dataclass(frozen=True)
class SizePrediction:
    """The response times at one size; no times if it cannot keep up."""

    size: int
    """Executors, or cores where these come one by one."""
    cores: int
    utilization: float | None
    """The load of rows over the capacity; None if other queries need all of this size."""
    overhead_s: float | None = None
    per_row_s: float | None = None
    mean_s: float | None = None
    p95_s: float | None = None
    statistic_s: float | None = None
    """The mean or percentile that is required."""
    low_s: float | None = None
    high_s: float | None = None
    """Spread of ``statistic_s``: two standard errors."""

    @property
    def stable(self) -> bool:
        """Whether it keeps up with the arrivals."""
        return self.mean_s is not None

    def meets(self, requirement: Requirement, *, surely: bool = False) -> bool:
        """Whether the prediction, or surely the upper end of its spread, is within the bound."""
        value_s = self.high_s if surely else self.statistic_s
        return value_s is not None and value_s <= requirement.bound_s


@dataclass(frozen=True)
class QueryAdvice:
    """The measurements of a query, and the size that meets its bound."""

    record: QueryRecord
    requirement: Requirement
    load: float
    """Rows per second that are asked about, as a multiple of those recorded."""
    seen: Latency
    predictions: tuple[SizePrediction, ...]
    now: int
    """The recorded size, in executors or cores."""

    @property
    def batches(self) -> int:
        """Micro-batches that the advice rests on."""
        return len(self.record.usable)

    @property
    def cheapest(self) -> SizePrediction | None:
        """The smallest size that meets the bound; None if none of them does."""
        return next((p for p in self.predictions if p.meets(self.requirement)), None)

    @property
    def safe(self) -> SizePrediction | None:
        """The smallest size that meets the bound at the upper end of its spread."""
        return next((p for p in self.predictions if p.meets(self.requirement, surely=True)), None)

    @property
    def at_now(self) -> SizePrediction:
        """The prediction for the recorded size."""
        return next(p for p in self.predictions if p.size == self.now)

    @property
    def model_error(self) -> float | None:
        """Predicted over seen mean at the recorded size and load, less 1; None for another load, or under overload."""
        mean_s = self.at_now.mean_s
        return None if mean_s is None or self.load != 1.0 or self.seen.mean_s <= 0 else mean_s / self.seen.mean_s - 1

    @property
    def saturated(self) -> bool:
        """Whether the recorded size could hardly keep up with the recorded arrivals."""
        load = self.at_now.utilization
        return load is None or load / self.load > SATURATED or self.record.usable[-1].left > self.record.usable[-1].rows

    @property
    def arrival_error_s(self) -> float:
        """The most by which the mean response time can be off because arrival times are estimated."""
        return self.record.arrivals.evenly_s / 2

    @property
    def dispersion(self) -> float | None:
        """Index of dispersion of rows per second, or per micro-batch where these are longer."""
        arrivals = self.record.arrivals
        return arrivals.dispersion(max(1.0, 2 * arrivals.evenly_s))

    @property
    def doubts(self) -> tuple[str, ...]:
        """The reasons why the advice may be wrong; none if there are none."""
        return tuple(_doubts(self))


@dataclass(frozen=True)
class Advice:
    """The advice for all queries of an application, which share its cores."""

    application: str
    queries: tuple[QueryAdvice, ...]
    skipped: tuple[str, ...] = ()
    """Queries without advice, and why."""
    price: float | None = None
    """Price of a core for an hour."""

    @property
    def size(self) -> int | None:
        """The smallest size at which all queries meet the bound; None if there is none."""
        cheapest = [query.cheapest for query in self.queries]
        return max((p.size for p in cheapest if p), default=None) if all(cheapest) else None

    def __str__(self) -> str:
        from mead.reports.advice.words import sentences  # noqa: PLC0415 - words need values

        return "\n".join(sentences(self))

    def per_month(self, cores: float) -> float | None:
        """Price of so many cores for a month; None without a price."""
        return None if self.price is None else cores * self.price * HOURS_PER_MONTH


def advise(
    application: str,
    records: Sequence[QueryRecord],
    requirement: str | Requirement,
    *,
    price: float | None = None,
    load: float = 1.0,
    progress: Callable[[str], None] = lambda _: None,
) -> Advice:
    """Advise on every query. Raises ValueError if the requirement cannot be read."""
    queries, skipped = [], []
    for record in records:
        progress(record.name)
        if isinstance(requirement, str):
            required = Requirement.parse(requirement, record.name)
        else:
            required = replace(requirement, path=record.name)
        if len(record.usable) < LEAST_BATCHES or record.arrivals.lasted_s <= 0:
            few = len(record.usable)
            skipped.append(f"{record.name}: {few} usable micro-batches; at least {LEAST_BATCHES} are needed")
        else:
            queries.append(advise_query(record, required, load))
    return Advice(application, tuple(queries), tuple(skipped), price)


def advise_query(record: QueryRecord, requirement: Requirement, load: float = 1.0) -> QueryAdvice:
    """Advise on one query, which has enough micro-batches."""
    percents = sorted({*PERCENTS, *([requirement.percent] if requirement.percent else [])})
    predictions = tuple(predict(record, size, requirement, load) for size in sizes(record))
    now = min(predictions, key=lambda p: abs(slots_of(record, p.size) - record.slots)).size
    return QueryAdvice(record, requirement, load, Latency.of(record, percents), predictions, now)


def predict(record: QueryRecord, size: int, requirement: Requirement, load: float = 1.0) -> SizePrediction:
    """Predict the response times at one size."""
    cores = cores_of(record, size)
    times = BatchTimes.on(record, slots_of(record, size))
    if times is None:
        return SizePrediction(size, cores, None)
    server = times.learn()
    response_s, busy = _replayed(record, server, load)
    known = SizePrediction(size, cores, busy, server.overhead_s, server.per_row_s)
    if response_s is None:
        return known
    value_s = statistic_s(response_s, requirement)
    error_s = _standard_error_s(record, times, requirement, load)
    return replace(
        known,
        mean_s=float(response_s.mean()),
        p95_s=float(np.percentile(response_s, 95.0)),
        statistic_s=value_s,
        low_s=None if error_s is None else max(value_s - 2 * error_s, 0.0),
        high_s=None if error_s is None else value_s + 2 * error_s,
    )


def _replayed(record: QueryRecord, server: LearnedServer, load: float) -> tuple[FloatArray | None, float]:
    """Response times of the recorded arrivals, None under overload; and the load over the capacity."""
    iats_s, group = record.arrivals.units()
    solution = replay_batches(iats_s, server.batch_server(record, group * load), server.scatter_s)
    if not isinstance(solution, ReplayResponse):
        return None, solution.utilization
    return np.maximum(solution.response_s[0] - server.record_s, 0.0), solution.utilization


def _standard_error_s(record: QueryRecord, times: BatchTimes, requirement: Requirement, load: float) -> float | None:
    """By the jackknife: a part is left out of what is learned, and of the arrivals that are counted."""
    values_s = []
    for part in range(PARTS):
        response_s, _ = _replayed(record, times.learn(part, PARTS), load)
        if response_s is None:
            return None
        edges = np.linspace(0, response_s.size, PARTS + 1).astype(int)
        kept_s = np.concatenate([response_s[: edges[part]], response_s[edges[part + 1] :]])
        values_s.append(statistic_s(kept_s, requirement))
    return float(np.sqrt((PARTS - 1) * np.var(values_s)))


def _doubts(advice: QueryAdvice) -> list[str]:
    """Say in words what makes the advice unsure."""
    doubts, record = [], advice.record
    if advice.batches < MANY_BATCHES:
        doubts.append(f"only {advice.batches} micro-batches; record {MANY_BATCHES} or more")
    if advice.saturated:
        doubts.append("the query could hardly keep up, so more rows may have waited at the source than it reports")
    if advice.model_error is not None and abs(advice.model_error) > OFF:
        doubts.append(f"at the recorded size the model is off by {advice.model_error:+.0%}")
    chosen = advice.cheapest
    if chosen is None:
        return doubts
    if chosen.high_s is None or chosen.statistic_s is None:
        doubts.append("without a part of the recording the advised size could not keep up")
    elif chosen.high_s - chosen.statistic_s > WIDE * chosen.statistic_s:
        doubts.append("the spread is wide; record longer")
    if not 1 / FAR <= chosen.size / advice.now <= FAR:
        doubts.append(f"{chosen.size} is far from the recorded size of {advice.now}; go there in steps")
    if sum(batch.repeated for batch in record.usable) > 0.1 * advice.batches:
        doubts.append("tasks ran more than once in many micro-batches")
    return doubts
