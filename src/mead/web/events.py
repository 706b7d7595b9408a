"""Rounds as they come, as server-sent events.

A client has no queue. It is woken after a round and sent what it has not had yet, straight from the ring of the board;
one that does not take it in time is dropped, and may come again and say what it had last. The server may serve another
run by then, so that an event is named by both: the run, and the last round in it.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from mead.reports.judge import CountedTimes
from mead.reports.live.board import Board
from mead.reports.live.frame import Frame
from mead.values import WINDOW_S

MOST_CLIENTS = 16
AT_ONCE = 200
"""How many rounds one event may hold."""

SLOWEST_S = 10.0
"""A client that does not accept an event for this long is dropped."""

HEARTBEAT_S = 15.0
"""After this long without a round, a comment shows that the connection is alive."""

FAREWELL_S = 2.0
"""How long a client may still ask for what it lacks after it was told of the end; then the connection is closed."""

NAME = re.compile(r"(?P<run>-?\d{1,20})/(?P<round>\d{1,15})", re.ASCII)


@dataclass(frozen=True)
class Last:
    """The last event that a client got; ``run`` is empty if it got none."""

    run: str = ""
    round: int = 0

    @classmethod
    def parsed(cls, name: str) -> Last:
        """Parse the id of an event.

        >>> Last.parsed("1767268800/17"), Last.parsed("seventeen")
        (Last(run='1767268800', round=17), Last(run='', round=0))
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
    dropped: int = field(default=0, init=False)
    closing: bool = field(default=False, init=False)

    async def serve(self, scope: Scope, receive: Receive, send: Send, last: Last) -> None:
        """Send what comes after that event, until the client leaves, is dropped, or no more will come."""
        if scope["method"] == "HEAD":
            await PlainTextResponse("", media_type="text/event-stream")(scope, receive, send)
            return
        if self.clients >= MOST_CLIENTS:
            answer = PlainTextResponse(f"{MOST_CLIENTS} clients look already\n", 503, {"Retry-After": "30"})
            await answer(scope, receive, send)
            return
        self.clients += 1
        sending = asyncio.create_task(self._send(send, last))
        leaving = asyncio.create_task(_gone(receive))
        try:
            await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self.clients -= 1
            for task in (sending, leaving):
                task.cancel()
            with suppress(asyncio.CancelledError, TimeoutError):
                await sending

    async def _send(self, send: Send, last: Last) -> None:
        headers = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"x-accel-buffering", b"no")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        try:
            async for event in self._stream(last):
                async with asyncio.timeout(SLOWEST_S):
                    await send({"type": "http.response.body", "body": event.encode(), "more_body": True})
        except TimeoutError:
            self.dropped += 1
        else:
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    def _news(self, frames: Sequence[Frame]) -> dict[str, Any]:
        """Rounds, how the requirements stand, and how many changes there were."""
        recent = CountedTimes(self.board.recent(WINDOW_S))
        return {
            "rounds": [frame.as_json() for frame in frames],
            "requirements": [recent.whole(r).as_json(WINDOW_S) for r in self.board.facts.pipeline.requirements],
            "changes": self.board.totals.changes,
        }

    async def _stream(self, last: Last) -> AsyncIterator[str]:
        loop, changed, run = asyncio.get_running_loop(), asyncio.Event(), self.board.facts.id

        def wake() -> None:
            with suppress(RuntimeError):  # the server is shutting down
                loop.call_soon_threadsafe(changed.set)

        forget = self.board.on_change(wake)
        try:
            yield "retry: 2000\n\n"
            if last.run not in {"", run}:
                yield "event: another-run\ndata: {}\n\n"
            after = last.round if last.run == run else 0
            while not self.closing:
                changed.clear()
                finished = self.board.finished  # read before the rounds, because no round comes after it
                frames = self.board.since(after, AT_ONCE)
                if frames:
                    after = frames[-1].number
                    news = json.dumps(self._news(frames), allow_nan=False)
                    yield f"id: {Last(run, after)}\nevent: rounds\ndata: {news}\n\n"
                elif finished:
                    yield f"event: finished\ndata: {json.dumps({'stays': self.board.stays})}\n\n"
                    if not self.board.stays:  # the server stops when nobody is left: let the client leave first
                        await asyncio.sleep(FAREWELL_S)
                    return
                else:
                    if (since_s := self.board.silent_since_s) is not None:
                        yield f"event: silent\ndata: {json.dumps({'since_s': since_s})}\n\n"
                    yield await _quiet(changed)
        finally:
            forget()


async def _quiet(changed: asyncio.Event) -> str:
    """Wait for a round, but not for long. Returns a comment, which clients ignore and dead connections fail on."""
    try:
        async with asyncio.timeout(HEARTBEAT_S):
            await changed.wait()
    except TimeoutError:
        return ": still here\n\n"
    return ": \n\n"


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
