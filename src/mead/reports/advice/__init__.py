"""Advice for a query from its micro-batches: latency, its parts, other sizes, the cheapest one that meets a bound."""
