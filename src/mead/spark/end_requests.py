"""Requests to end: Ctrl-C and SIGTERM, as a run takes them."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any, Self

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class EndRequests:
    """While a ``with`` block lasts, both signals interrupt what is done, and from ``hold`` on they are only counted.

    An interrupt strikes anywhere: between a question to Java and its answer, between the limit of a control group and
    its removal. Who holds requests has to look at their number, and ends when he is ready to. Blocks may be nested.
    In another thread than the main one, which Python gives no signals, nothing is ever asked.

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
        self._before.append({one: signal.signal(one, self._asked) for one in (SIGNALS if main else ())})
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for one, handler in self._before.pop().items():
            signal.signal(one, handler)

    def _asked(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        self.count += 1
        if not self._held:
            raise KeyboardInterrupt
