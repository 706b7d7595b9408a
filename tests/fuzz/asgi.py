"""The page's application, asked without a client that would refuse to send something."""

from __future__ import annotations

import asyncio
from functools import cache
from typing import Any

from starlette.types import ASGIApp, Message
from tests.web import runs

from mead.web.application import application
from mead.web.guard import Hosts
from mead.web.model_process import ModelProcess


class Told(ModelProcess):
    """Answers at once: what the models make of a question is tested where they are, and takes a second."""

    def ask(self, function: Any, *values: object, wanted: Any = None) -> dict[str, Any]:
        del wanted
        return {"asked": function.__name__, "values": len(values)}


@cache
def app() -> ASGIApp:
    board = runs.board(runs.simulated().rounds)
    board.stays = True
    board.finish()  # so that the stream of events ends
    return application(board, Told(), Hosts("127.0.0.1"))[0]


def asked(
    path: str = "/",
    query: bytes = b"",
    headers: list[tuple[bytes, bytes]] | None = None,
    method: str = "GET",
    body: bytes = b"",
) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of an answer."""
    sent: list[Message] = []
    received = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def receive() -> Message:
        message = next(received, None)
        if message is None:
            await asyncio.sleep(3600)  # the client stays, and waits
        return message or {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    given_host = any(name.lower() == b"host" for name, _ in headers or ())
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(errors="replace"),
        "root_path": "",
        "query_string": query,
        "headers": [*([] if given_host else [(b"host", b"127.0.0.1:8765")]), *(headers or ())],
        "client": ("127.0.0.1", 50000),
        "server": ("127.0.0.1", 8765),
    }

    async def answered() -> None:
        await app()(scope, receive, send)

    asyncio.run(answered())
    start = sent[0]
    content = b"".join(message.get("body", b"") for message in sent[1:])
    return start["status"], {name.decode(): value.decode() for name, value in start["headers"]}, content
