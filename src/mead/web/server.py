"""The server of the page: a thread beside the run. The run never waits for it."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Thread

import uvicorn

from mead.keys import ConfigError
from mead.reports.live import Board
from mead.web.application import Routes, application
from mead.web.connections import MOST_CONNECTIONS, PageConnection
from mead.web.events import FAREWELL_S
from mead.web.guard import Hosts
from mead.web.model_process import ModelProcess
from mead.web.token import Token

MOST_UNREAD = 256 * 1024
"""Bytes that the system buffers for a client that does not read. The default is several megabytes."""

GOODBYE_S, CLOSING_S = FAREWELL_S + 1.0, 5.0


class ServeError(ConfigError):
    """The page cannot be served at this address. The message says why."""


@contextmanager
def serving(
    board: Board,
    host: str = "127.0.0.1",
    port: int = 0,
    *,
    or_any: bool = False,
    known_as: Sequence[str] = (),
    token: Token | None = None,
) -> Iterator[str]:
    """Serve a board within this context; yields the address.

    Port 0 takes a free port; with ``or_any``, so does a port in use. ``known_as`` are more host names that requests may
    use. With a ``token``, they have to present it.
    """
    listening = _listening(host, port, or_any=or_any)
    models = ModelProcess()
    app, routes = application(board, models, Hosts(host, tuple(known_as)), token)
    config = uvicorn.Config(
        app,
        http=PageConnection,
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="critical",
        access_log=False,
        server_header=False,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(config)
    thread = Thread(target=server.run, kwargs={"sockets": [listening]}, name="mead-page", daemon=True)
    thread.start()
    try:
        yield _address(host, listening)
    finally:
        if board.finished:
            _say_goodbye(routes)
        routes.events.closing = True
        server.should_exit = True
        models.close()
        thread.join(CLOSING_S)
        listening.close()


def _say_goodbye(routes: Routes) -> None:
    """Let clients learn that the run is over. Otherwise browsers retry, and Prometheus reports a crash."""
    deadline_s = time.monotonic() + GOODBYE_S
    while (routes.events.clients and time.monotonic() < deadline_s) or routes.scrapes.wait_s():
        time.sleep(GOODBYE_S / 20)


def _listening(host: str, port: int, *, or_any: bool) -> socket.socket:
    """A listening socket, opened early so that errors are reported before the run starts."""
    try:
        family, _, _, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError) as error:
        raise ServeError(f"--host {host}: is not an address of this machine ({error})") from error
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, MOST_UNREAD)
        listening.bind(place)
        listening.listen(MOST_CONNECTIONS)  # early clients wait for the thread instead of being refused
    except (OSError, OverflowError) as error:
        listening.close()
        if or_any and port:
            return _listening(host, 0, or_any=False)
        raise ServeError(
            f"{host}:{port}: cannot listen ({error}); choose another --port, or 0 for a free one"
        ) from error
    return listening


def _address(host: str, listening: socket.socket) -> str:
    port = listening.getsockname()[1]
    shown = {"0.0.0.0": socket.gethostname(), "::": socket.gethostname()}.get(host, host)  # noqa: S104 - only shown
    return f"http://{f'[{shown}]' if ':' in shown else shown}:{port}/"
