"""One way to put a run together: engine, policy, clock, record and history."""

from __future__ import annotations

from mead.session.facts import RunFacts
from mead.session.negotiation import NegotiatedEngine, Negotiator, Pool, most_within
from mead.session.record import RunRecord
from mead.session.result import EngineCpu, LiveResult
from mead.session.session import Observer, Session

__all__ = [
    "EngineCpu",
    "LiveResult",
    "NegotiatedEngine",
    "Negotiator",
    "Observer",
    "Pool",
    "RunFacts",
    "RunRecord",
    "Session",
    "most_within",
]
