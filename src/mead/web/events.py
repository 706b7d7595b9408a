"""Rounds as server-sent events.

A client has no queue of its own. A new round wakes it, and it is sent the rounds that it lacks, straight from the ring
of the board. The server drops a client that does not read in time. A client that reconnects names the last event that
it received; the server may serve another run by then, so the id of an event consists of the run and its last round.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from sse_starlette import EventSourceResponse, ServerSentEvent
from sse_starlette.sse import SendTimeoutError
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from mead.reports.frames import Frame
from mead.reports.judge import CountedTimes
from mead.reports.live import Board
from mead.values import WINDOW_S

MOST_CLIENTS = 16
AT_ONCE = 200
"""The most rounds in one event."""

SLOWEST_S = 10.0
"""A client that does not accept an event for this long is dropped."""

HEARTBEAT_S = 15.0
"""Interval of the comments that show that a connection is alive."""

FAREWELL_S = 2.0
"""Time for a client to ask for missing data after the end of the run; then the connection is closed."""

RETRY_MS = 2000
"""A browser reconnects after this long."""

NAME = re.compile(r"(?P<run>-?\d{1,20})/(?P<round>\d{1,15})", re.ASCII)


@dataclass(frozen=True)
class EventId:
    """The last event that a client received; ``run`` is empty if it received none."""

    run: str = ""
    round: int = 0

    @classmethod
    def parse(cls, name: str) -> EventId:
        """Parse the id of an event; an invalid one counts as none.

        >>> EventId.parse("1767268800/17"), EventId.parse("seventeen")
        (EventId(run='1767268800', round=17), EventId(run='', round=0))
        """
        found = NAME.fullmatch(name)
        return cls() if found is None else cls(found["run"], int(found["round"]))

    def __str__(self) -> str:
        return f"{self.run}/{self.round}"


@dataclass
class Events:
    """All clients of one board."""

    board: Board
    clients: int = field(default=0, init=False)
    closing: bool = field(default=False, init=False)

    async def serve(self, scope: Scope, receive: Receive, send: Send, last: EventId) -> None:
        """Send the events after ``last``, until the client leaves or is dropped, or the run is over."""
        if self.clients >= MOST_CLIENTS:
            answer = PlainTextResponse(f"there are {MOST_CLIENTS} clients already\n", 503, {"Retry-After": "30"})
            await answer(scope, receive, send)
            return
        response = EventSourceResponse(
            self._stream(last),
            sep="\n",
            ping=HEARTBEAT_S,
            ping_message_factory=lambda: ServerSentEvent(comment="alive", sep="\n"),
            send_timeout=SLOWEST_S,
        )
        self.clients += 1
        try:
            with suppress(SendTimeoutError):  # the connection is closed without an end
                await response(scope, receive, send)
        finally:
            self.clients -= 1

    def _news(self, frames: Sequence[Frame]) -> dict[str, Any]:
        """Rounds, verdicts on the last window, and the number of changes."""
        recent = CountedTimes(self.board.recent(WINDOW_S))
        return {
            "rounds": [frame.as_json() for frame in frames],
            "requirements": [recent.whole(r).as_json(WINDOW_S) for r in self.board.facts.pipeline.requirements],
            "changes": self.board.totals.changes,
        }

    async def _stream(self, last: EventId) -> AsyncIterator[ServerSentEvent]:
        loop, changed, run = asyncio.get_running_loop(), asyncio.Event(), self.board.facts.id

        def wake() -> None:
            with suppress(RuntimeError):  # the server is shutting down
                loop.call_soon_threadsafe(changed.set)

        forget = self.board.on_change(wake)
        try:
            yield ServerSentEvent(retry=RETRY_MS, sep="\n")
            if last.run not in {"", run}:
                yield _event("another-run", {})
            after = last.round if last.run == run else 0
            while not self.closing:
                changed.clear()
                finished = self.board.finished  # read before the rounds, because no round comes after it
                frames = self.board.since(after, AT_ONCE)
                if frames:
                    after = frames[-1].number
                    yield _event("rounds", self._news(frames), EventId(run, after))
                elif finished:
                    yield _event("finished", {"stays": self.board.stays})
                    if not self.board.stays:  # the server stops with its last client: let the client leave first
                        await asyncio.sleep(FAREWELL_S)
                    return
                else:
                    if (since_s := self.board.silent_since_s) is not None:
                        yield _event("silent", {"since_s": since_s})
                    with suppress(TimeoutError):
                        await asyncio.wait_for(changed.wait(), HEARTBEAT_S)
        finally:
            forget()


def _event(kind: str, document: dict[str, Any], name: EventId | None = None) -> ServerSentEvent:
    data = json.dumps(document, allow_nan=False)
    return ServerSentEvent(data, event=kind, id=None if name is None else str(name), sep="\n")
