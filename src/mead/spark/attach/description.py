"""Describe a user's query as a pipeline of one operator, from its first micro-batches."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING

from mead.spark.attach.engine import AttachError
from mead.spark.runtime.java_machine import NO_ANSWER
from mead.values import DEFAULT_SHARES, Batches, Operator, Pipeline, Requirement

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql.streaming.query import StreamingQuery

GUESSED_DEMAND_S, GUESSED_OVERHEAD_S = 0.001, 0.1
"""Guesses for a query that has done nothing yet; the real values are learned."""


def find_context(query: StreamingQuery) -> SparkContext:
    """Return the Spark context in which the query runs. Raises AttachError if there is none."""
    from pyspark import SparkContext  # noqa: PLC0415 - a caller with a query has loaded it

    context = SparkContext._active_spark_context  # noqa: SLF001 - a query does not say where it runs
    if not hasattr(query, "_jsq") or context is None:
        raise AttachError("cannot attach: the query must run in this process, and not over Spark Connect")
    if not query.isActive:
        raise AttachError(f"cannot attach: the query {query.name or query.id} is not running")
    return context


def describe_query(
    query: StreamingQuery, cores: int, requirement: str | Requirement, shares: Sequence[float] | None
) -> Pipeline:
    """Return the query as one operator, estimated from its micro-batches so far."""
    name = query.name or f"query-{query.id[:8]}"
    if isinstance(requirement, str):
        requirement = Requirement.parse(requirement, name)
    levels = tuple(round(share * cores, 2) for share in DEFAULT_SHARES) if shares is None else tuple(shares)
    seen = [progress for progress in query.recentProgress if progress.numInputRows > 0]
    took_s = [progress.durationMs["triggerExecution"] / 1e3 for progress in seen]
    per_row_s = [max(s, 1e-3) * cores / p.numInputRows for s, p in zip(took_s, seen, strict=True)]
    operator = Operator(
        name,
        demand_s=median(per_row_s) / 2 if seen else GUESSED_DEMAND_S,
        shares=levels,
        batches=Batches(min(took_s) / 2 if seen else GUESSED_OVERHEAD_S, _trigger_s(query)),
    )
    return Pipeline(name, [operator], (), [replace(requirement, path=name)])


def _trigger_s(query: StreamingQuery) -> float | None:
    """Return the query's trigger interval; None if micro-batches follow each other directly."""
    wrapped = query._jsq  # noqa: SLF001 - Python does not tell
    with suppress(*NO_ANSWER):  # a trigger that has no interval
        interval_ms = int(wrapped.streamingQuery().trigger().intervalMs())
        return interval_ms / 1e3 or None
    return None
