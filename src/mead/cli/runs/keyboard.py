"""Single keys of a terminal, as they are pressed; Ctrl-C and a request to end are keys like any other."""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

GONE = "\x04"
"""The key that is reported when the terminal is gone or a signal asks for an end: Ctrl-D."""

ENDING = signal.SIGINT, signal.SIGTERM


@contextmanager
def keys() -> Iterator[Callable[[float], str]]:
    """A function that waits up to so many seconds for a key and returns it; empty if none was pressed.

    The terminal is left as it was found. Without one, only signals are heard. They do not interrupt: that could leave
    half a screen, or a terminal that is not restored.
    """
    with _signals() as asked, _single_keys() as typed:

        def pressed(wait_s: float) -> str:
            ready, _, _ = select.select([asked, *typed], [], [], wait_s)
            return (os.read(ready[0], 1).decode(errors="replace") or GONE) if ready else ""

        yield pressed


@contextmanager
def _signals() -> Iterator[int]:
    """A file that becomes readable when a signal asks for an end."""
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
    """The terminal, that sends keys one by one; nothing if there is none."""
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
