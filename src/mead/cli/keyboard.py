"""Single keys of a terminal, as they are pressed."""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

GONE = "\x04"
"""What is said to be pressed when the terminal is gone: the end of what it sends, Ctrl-D."""


@contextmanager
def keys() -> Iterator[Callable[[float], str]]:
    """What waits so many seconds for a key, and returns it; empty if none was pressed.

    The terminal is left as it was found. Without one nothing is ever pressed, and waiting is sleeping.
    """
    if not sys.stdin.isatty():
        yield _asleep
        return
    import termios
    import tty

    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)

    def pressed(wait_s: float) -> str:
        ready, _, _ = select.select([terminal], [], [], wait_s)
        return (os.read(terminal, 1).decode(errors="replace") or GONE) if ready else ""

    try:
        tty.setcbreak(terminal)
        yield pressed
    finally:
        termios.tcsetattr(terminal, termios.TCSAFLUSH, before)


def _asleep(wait_s: float) -> str:
    time.sleep(wait_s)
    return ""
