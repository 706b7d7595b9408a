"""Requests to end: Ctrl-C, SIGTERM and the end of a terminal, as a run takes them."""

from __future__ import annotations

import os
import signal
import stat
import threading
from types import FrameType, TracebackType
from typing import Any, Self

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class EndRequests:
    """While a ``with`` block lasts, signals interrupt what is done, and from ``hold`` on they are only counted.

    An interrupt strikes anywhere: between a question to Java and its answer, between the limit of a control group and
    its removal. Who holds requests has to look at their number, and ends when he is ready to. Blocks may be nested.
    In another thread than the main one, which Python gives no signals, nothing is ever asked. Whoever is started by
    ``nohup`` does not mind the end of its terminal, and so it is no request.

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
        """Who was told of signals outside of the block, and of the blocks around it."""

    def hold(self) -> None:
        """Interrupt nothing any more."""
        self._held = True

    def check(self) -> None:
        """Here is a good place to be interrupted."""
        if self.count:
            raise KeyboardInterrupt

    def __enter__(self) -> Self:
        main = threading.current_thread() is threading.main_thread()
        heard = [
            one for one in SIGNALS if main and not (one == signal.SIGHUP and signal.getsignal(one) is signal.SIG_IGN)
        ]
        self._before.append({one: signal.signal(one, self._asked) for one in heard})
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for one, handler in self._before.pop().items():
            signal.signal(one, handler)

    def _asked(self, number: int, frame: FrameType | None) -> None:
        del frame
        if number == signal.SIGHUP:
            let_lost_terminals_go()
        self.count += 1
        if not self._held:
            raise KeyboardInterrupt


def let_lost_terminals_go() -> None:
    """What would be written to a terminal that is gone goes nowhere: as an error it would end the run without a report.

    One that is still there, because somebody has only sent the signal, is left alone.
    """
    nowhere = os.open(os.devnull, os.O_RDWR)
    try:
        for file in (0, 1, 2):
            if not os.isatty(file) and stat.S_ISCHR(_mode(file)):
                os.dup2(nowhere, file)
    finally:
        os.close(nowhere)


def _mode(file: int) -> int:
    """Of what kind a file is; 0 if it is closed."""
    try:
        return os.fstat(file).st_mode
    except OSError:
        return 0
