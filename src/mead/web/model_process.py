"""The models in a process of their own, of the lowest priority.

A prediction takes CPU that belongs to the stream, and holds Python's lock, which the controller needs. So it is
computed beside the run: when somebody asks, when the processors have nothing else to do, one question at a time.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from threading import Lock
from typing import Any

MOST_WAIT_S = 60.0
"""A question that takes longer is given up, and its process ended."""


class BusyError(Exception):
    """Another question is being answered."""


class TooSlowError(Exception):
    """The question takes too long."""


class TakenBackError(Exception):
    """Whoever asked has gone."""


class ModelProcess:
    """A process that computes answers. It starts with the first question and ends with ``close``, or its parent."""

    def __init__(self, most_wait_s: float = MOST_WAIT_S) -> None:
        self.most_wait_s = most_wait_s
        self._asking, self._changing = Lock(), Lock()
        self._closed = False
        self._process: Any = None
        self._pipe: Connection | None = None

    def ask(
        self, function: Callable[..., dict[str, Any]], *values: object, wanted: Callable[[], bool] = lambda: True
    ) -> dict[str, Any]:
        """What the function returns there. Its exceptions are raised here.

        Whoever moves a slider asks anew and takes the question before back: once it is its turn, one that is not
        ``wanted`` any more is not computed.
        """
        if not self._asking.acquire(timeout=self.most_wait_s / 2):
            raise BusyError("another question is being answered; ask again in a moment")
        try:
            if not wanted():
                raise TakenBackError("nobody waits for this answer any more")
            pipe = self._started()
            try:
                pipe.send((function, values))
                if not pipe.poll(self.most_wait_s):
                    self._end()
                    raise TooSlowError(f"no answer within {self.most_wait_s:g} s; ask for less, or when less runs")
                answer = pipe.recv()
            except (EOFError, OSError) as error:
                self._end()
                raise TooSlowError("the process that computes predictions has ended; ask again") from error
        finally:
            self._asking.release()
        if isinstance(answer, Exception):
            raise answer
        return answer  # type: ignore[no-any-return] # what a pipe brings has no type

    def close(self) -> None:
        """End it, also in the middle of an answer. Whoever asks after that, or has been waiting, is refused."""
        self._closed = True
        self._end()

    def _started(self) -> Connection:
        with self._changing:
            if self._closed:
                raise TooSlowError("the page is closing")
            if self._pipe is None:
                context = get_context("spawn")  # a fork would take the threads' locks along, and the JVM's sockets
                self._pipe, theirs = context.Pipe()
                self._process = context.Process(target=_serve, args=(theirs,), name="mead-models", daemon=True)
                self._process.start()
                theirs.close()
            return self._pipe

    def _end(self) -> None:
        with self._changing:
            process, pipe = self._process, self._pipe
            self._process = self._pipe = None
        if process is not None:
            process.kill()  # first: whoever waits for an answer is woken by the end of the pipe
            process.join()
        if pipe is not None:
            pipe.close()


def _serve(pipe: Connection) -> None:
    """Answer questions until the other end is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the run, which ends this in good order
    with suppress(OSError, AttributeError):
        os.nice(19)
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    while True:
        try:
            function, values = pipe.recv()
        except (EOFError, OSError):
            return
        try:
            answer = function(*values)
        except Exception as error:  # noqa: BLE001 - it is raised where the question came from
            answer = error
        try:
            pipe.send(answer)
        except (BrokenPipeError, OSError):
            return
