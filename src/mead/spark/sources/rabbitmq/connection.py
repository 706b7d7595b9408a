"""A connection to RabbitMQ that sends a request and awaits the answer.

pika's blocking connection rejects messages that it has received but not delivered when a consumer ends, and a broker
closes the connection if a message of a stream is rejected. So this is built on pika's event loop, which also allows
many unconfirmed messages.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from mead.broker_url import FORM, check_url, without_password
from mead.extras import require

ANSWER_S = 30.0
"""Default time limit for a broker's answer."""


NOT_READY = ("is down or inaccessible", "replica on the local node")
"""Parts of answers of a broker that runs, but whose stream is not ready yet."""


class RabbitError(Exception):
    """RabbitMQ cannot be used as asked. The message is one line with a remedy."""


class UnreachableError(RabbitError):
    """There is no connection, or it was lost. Another try may succeed."""


class NotReadyError(UnreachableError):
    """The broker answers, but its stream is not up yet, as in the first seconds after a restart."""


class Connection:
    """One open connection. It handles events only while a caller waits on it."""

    def __init__(self, url: str, answer_s: float = ANSWER_S) -> None:
        pika = _pika()
        logging.getLogger("pika").setLevel(logging.CRITICAL)  # errors are raised
        self.place, self.answer_s = without_password(url), answer_s
        self._opened = False
        self._lost: BaseException | None = None
        self._connection = pika.SelectConnection(
            _parameters(pika, url, answer_s),
            on_open_callback=self._on_open,
            on_open_error_callback=self._on_lost,
            on_close_callback=self._on_lost,
        )
        self._loop = self._connection.ioloop
        self._loop.activate_poller()
        try:
            if not self.wait(lambda: self._opened, ANSWER_S):
                raise UnreachableError(f"{self.place}: no answer within {ANSWER_S:g} s")
        except RabbitError:
            self._release()
            raise

    @property
    def is_open(self) -> bool:
        """Whether it is open, as far as known."""
        return self._lost is None

    def wait(self, done: Callable[[], bool], timeout_s: float) -> bool:
        """Handle events until a condition holds; return False on timeout. With 0 s, handle pending events."""
        late: list[bool] = []
        timer = self._loop.call_later(timeout_s, lambda: late.append(True))
        try:
            while not done():
                if self._lost is not None:
                    raise _explain_loss(self._lost, self.place)
                if late:
                    return False
                self._loop.poll()
                self._loop.process_timeouts()
        finally:
            self._loop.remove_timeout(timer)
        return True

    def channel(self) -> Channel:
        """Open a new channel. The broker closes it at the first request that fails."""
        if self._lost is not None:
            raise _explain_loss(self._lost, self.place)
        return Channel(self, self._connection.channel)

    def close(self) -> None:
        """End the connection and drop pending events."""
        if self._lost is None:
            self._connection.close()
            self.wait(lambda: self._lost is not None, 1.0)  # await the broker's close
        self._release()

    def _release(self) -> None:
        self._loop.deactivate_poller()
        self._loop.close()

    def _on_open(self, _: object) -> None:
        self._opened = True

    def _on_lost(self, _: object, reason: BaseException) -> None:
        self._lost = reason


class Channel:
    """A sequence of requests to the broker."""

    def __init__(self, connection: Connection, opened: Callable[..., Any]) -> None:
        self.connection = connection
        self._closed: BaseException | None = None
        self._answers: list[Any] = []
        self.raw = opened(on_open_callback=self._answers.append)
        self.raw.add_on_close_callback(self._on_closed)
        self._answer("a new channel")

    def ask(self, method: str, **arguments: Any) -> Any:
        """Call a method of pika's channel, such as ``queue_declare``, and wait for the answer."""
        self._answers.clear()
        getattr(self.raw, method)(callback=self._answers.append, **arguments)
        return self._answer(method)

    def wait(self, done: Callable[[], bool], timeout_s: float | None = None) -> bool:
        """Handle events until a condition holds; return False on timeout, by default that for an answer."""
        limit_s = self.connection.answer_s if timeout_s is None else timeout_s
        reached = self.connection.wait(lambda: done() or self._closed is not None, limit_s)
        if self._closed is not None:
            raise explain_refusal(self._closed, self.connection.place)
        return reached

    def close(self) -> None:
        """Close it. The broker takes back unacknowledged messages, which is free for a stream."""
        if self.raw.is_open:
            self.raw.close()

    def _answer(self, what: str) -> Any:
        if not self.wait(lambda: bool(self._answers)):
            raise UnreachableError(
                f"{self.connection.place}: no answer to {what} within {self.connection.answer_s:g} s"
            )
        return self._answers.pop()

    def _on_closed(self, _: object, reason: BaseException) -> None:
        self._closed = reason


def explain_refusal(reason: BaseException, place: str) -> RabbitError:
    """Return the error for a broker's reason for closing a channel."""
    code, text = getattr(reason, "reply_code", 0), getattr(reason, "reply_text", str(reason))
    if any(answer in text for answer in NOT_READY):
        return NotReadyError(f"{place}: {text}")
    if code in {0, 541}:  # the connection was lost, or the broker is stopping
        return UnreachableError(f"{place}: {text}")
    if code == 404:
        return MissingError(f"{place}: {text}")
    return RabbitError(f"{place}: {text}")


class MissingError(RabbitError):
    """No such queue or exchange."""


def _explain_loss(reason: BaseException, place: str) -> RabbitError:
    """Return the error that explains why there is no connection."""
    from pika import exceptions  # noqa: PLC0415 - an extra, known to be there

    if isinstance(reason, exceptions.AuthenticationError | exceptions.ProbableAuthenticationError):
        return RabbitError(f"{place} refuses this user or password: correct them in the url")
    if isinstance(reason, exceptions.ProbableAccessDeniedError) or getattr(reason, "reply_code", 0) == 530:
        return RabbitError(f"{place}: no such virtual host, or this user may not use it")
    why = f" ({reason})" if str(reason) else ""
    return UnreachableError(f"no connection to {place}{why}: start RabbitMQ there, or correct the url")


def _parameters(pika: Any, url: str, answer_s: float) -> Any:
    """Return parameters with which pika itself gives up in time and releases its resources."""
    try:
        check_url(url)
    except ValueError as error:
        raise RabbitError(f"the url {error}") from None
    try:
        parameters = pika.URLParameters(url)
    except (ValueError, TypeError, SyntaxError, AttributeError):  # it evaluates some; its message repeats the text
        wrong = "a parameter after ? in the url is wrong: correct it" if "?" in url else f"the url is wrong: {FORM}"
        raise RabbitError(f"{without_password(url)}: {wrong}") from None
    parameters.socket_timeout = min(parameters.socket_timeout, answer_s)
    parameters.stack_timeout = min(parameters.stack_timeout, answer_s)
    return parameters


def _pika() -> Any:
    require("rabbitmq", "RabbitMQ")
    import pika  # noqa: PLC0415 - an extra

    return pika
