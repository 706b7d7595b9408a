"""Connections of the page: a bounded number, of which idle ones make room for new ones.

Prometheus must get through whatever browsers and scanners do: a scrape that fails raises a critical alert. So a
connection without a complete request is closed after a time, and when all places are taken, the one that has been idle
longest loses its place. The guard bounds the requests that are not for metrics, so some places are soon idle again:
until it has answered a burst of requests, there may be twice as many connections.
"""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

MOST_CONNECTIONS = 64

HEADER_S = 10.0
"""A client that has not sent the whole head of its request by then is disconnected."""


class PageConnection(H11Protocol):
    """One connection of a client."""

    _deadline: asyncio.TimerHandle | None = None
    _idle_since_s = 0.0

    @property
    def is_idle(self) -> bool:
        """Whether no request is being answered, or the connection is closing."""
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is None or cycle.response_complete or self.transport.is_closing()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as in uvicorn
        """Take a place, from another connection if need be."""
        super().connection_made(transport)
        self._idle_since_s = self.loop.time()
        if len(self.connections) > MOST_CONNECTIONS:
            self._find_place()
        self._await_request()

    def data_received(self, data: bytes) -> None:
        """Read a part of a request."""
        super().data_received(data)
        self._await_request()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        self._idle_since_s = self.loop.time()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Release everything."""
        self._cancel_deadline()
        super().connection_lost(exc)

    def _await_request(self) -> None:
        """Start the deadline with the first byte of a request, or with the connection; end it with the whole head."""
        if not self.is_idle:
            self._cancel_deadline()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(HEADER_S, self.transport.abort)

    def _cancel_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _find_place(self) -> None:
        others = [one for one in self.connections if isinstance(one, PageConnection) and one is not self]
        idle = [one for one in others if one.is_idle]
        if not idle and len(self.connections) <= 2 * MOST_CONNECTIONS:
            return
        loser = min(idle, key=lambda one: one._idle_since_s, default=self)  # noqa: SLF001 - of the same class
        self.connections.discard(loser)
        loser.transport.abort()
