"""Single key presses of a terminal; signals that ask for an end count as keys."""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

GONE = "\x04"
"""The key for a signal, or for a terminal that is gone: Ctrl-D."""

ENDING = signal.SIGINT, signal.SIGTERM


@contextmanager
def keys() -> Iterator[Callable[[float], str]]:
    """A function that waits up to some seconds for a key and returns it; empty if there was none.

    The terminal is restored at the end. Signals do not interrupt, which could leave half a screen or a terminal that is
    not restored. Without a terminal, there are only signals.
    """
    with _signals() as asked, _single_keys() as typed:

        def pressed(wait_s: float) -> str:
            ready, _, _ = select.select([asked, *typed], [], [], wait_s)
            return (os.read(ready[0], 1).decode(errors="replace") or GONE) if ready else ""

        yield pressed


@contextmanager
def _signals() -> Iterator[int]:
    """A file that becomes readable with a signal."""
    reader, writer = os.pipe()
    with closing(os.fdopen(reader, "rb")), closing(os.fdopen(writer, "wb")):

        def note(*_: object) -> None:
            os.write(writer, GONE.encode())

        before = {one: signal.signal(one, note) for one in ENDING}
        try:
            yield reader
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)


@contextmanager
def _single_keys() -> Iterator[list[int]]:
    """The terminal in single-key mode; empty without a terminal."""
    if not sys.stdin.isatty():
        yield []
        return
    import termios
    import tty

    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    try:
        tty.setcbreak(terminal)
        yield [terminal]
    finally:
        termios.tcsetattr(terminal, termios.TCSAFLUSH, before)
