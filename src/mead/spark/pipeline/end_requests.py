"""Requests to end a run: Ctrl-C, SIGTERM and a closed terminal."""

from __future__ import annotations

import os
import signal
import stat
import threading
from types import FrameType, TracebackType
from typing import Any, Self

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class EndRequests:
    """Signals interrupt the code in a ``with`` block; after ``hold`` they are only counted.

    An interrupt can strike anywhere: between a call to Java and its answer, or between setting and lifting a limit.
    Code that holds requests has to check their count and end when it is ready. Blocks may be nested. Python delivers
    signals to the main thread only, so other threads never get a request. A program started by ``nohup`` ignores a
    closed terminal.

    >>> with EndRequests() as requests:
    ...     requests.hold()
    ...     signal.raise_signal(signal.SIGTERM)
    ...     requests.count
    1
    """

    def __init__(self) -> None:
        self.count = 0
        self._held = False
        self._before: list[dict[signal.Signals, Any]] = []
        """The signal handlers outside this block, and outside each block around it."""

    def hold(self) -> None:
        """Only count requests from now on."""
        self._held = True

    def check(self) -> None:
        """Raise KeyboardInterrupt if an end was requested: here that is safe."""
        if self.count:
            raise KeyboardInterrupt

    def __enter__(self) -> Self:
        main = threading.current_thread() is threading.main_thread()
        heard = [
            one for one in SIGNALS if main and not (one == signal.SIGHUP and signal.getsignal(one) is signal.SIG_IGN)
        ]
        self._before.append({one: signal.signal(one, self._handle) for one in heard})
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for one, handler in self._before.pop().items():
            signal.signal(one, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        del frame
        if number == signal.SIGHUP:
            redirect_lost_terminals()
        self.count += 1
        if not self._held:
            raise KeyboardInterrupt


def redirect_lost_terminals() -> None:
    """Redirect output to a closed terminal, where an error would end the run without a report.

    A terminal that is still open, because only the signal was sent, is left alone.
    """
    nowhere = os.open(os.devnull, os.O_RDWR)
    try:
        for file in (0, 1, 2):
            if not os.isatty(file) and stat.S_ISCHR(_mode(file)):
                os.dup2(nowhere, file)
    finally:
        os.close(nowhere)


def _mode(file: int) -> int:
    """Return the type and mode of an open file; 0 if it is closed."""
    try:
        return os.fstat(file).st_mode
    except OSError:
        return 0
