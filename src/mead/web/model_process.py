"""A separate process of the lowest priority that computes predictions for the page.

A prediction takes CPU from the stream and holds Python's lock, which the controller needs. This process computes one
answer at a time, and only while the processors are idle.
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
"""A question that takes longer is abandoned, and its process ended."""


class BusyError(Exception):
    """Another question is being answered."""


class TooSlowError(Exception):
    """The question takes too long."""


class WithdrawnError(Exception):
    """The client has left."""


class ModelProcess:
    """Computes answers. The process starts with the first question and ends with ``close`` or with its parent."""

    def __init__(self, most_wait_s: float = MOST_WAIT_S) -> None:
        self.most_wait_s = most_wait_s
        self._asking, self._changing = Lock(), Lock()
        self._closed = False
        self._process: Any = None
        self._pipe: Connection | None = None

    def ask(
        self, function: Callable[..., dict[str, Any]], *values: object, wanted: Callable[[], bool] = lambda: True
    ) -> dict[str, Any]:
        """Call the function in the process. Its exceptions are raised here.

        A client that moves a slider sends a new question and withdraws the last one. A question that is no longer
        ``wanted`` when its turn comes is not computed.
        """
        if not self._asking.acquire(timeout=self.most_wait_s / 2):
            raise BusyError("another question is being answered; ask again in a moment")
        try:
            if not wanted():
                raise WithdrawnError("the client has left")
            pipe = self._started()
            try:
                pipe.send((function, values))
                if not pipe.poll(self.most_wait_s):
                    self._end()
                    raise TooSlowError(
                        f"no answer within {self.most_wait_s:g} s; ask again when the machine is less busy"
                    )
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
        """End the process, even while it computes. Waiting and later questions are refused."""
        self._closed = True
        self._end()

    def _started(self) -> Connection:
        with self._changing:
            if self._closed:
                raise TooSlowError("the page is closing")
            if self._pipe is None:
                context = get_context("spawn")  # a fork would copy locks of threads and sockets of the JVM
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
            process.kill()  # first: the end of the pipe wakes a thread that waits for an answer
            process.join()
        if pipe is not None:
            pipe.close()


def _serve(pipe: Connection) -> None:
    """Answer questions until the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the run, which then ends this process
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
