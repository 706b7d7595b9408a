"""Advice for a query from its micro-batches: latency, its parts, other sizes, the cheapest one that meets a bound."""

from mead.reports.advice.advice import Advice, QueryAdvice, SizePrediction, advise
from mead.reports.advice.batches import Latency, MicroBatch, QueryRecord

__all__ = ["Advice", "Latency", "MicroBatch", "QueryAdvice", "QueryRecord", "SizePrediction", "advise"]
