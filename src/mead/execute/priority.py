"""Who goes first where CPUs are short: the stream, and not the one who controls it."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from threading import get_native_id

NICE = 10
"""As ``nice`` takes it by default: about a tenth of the CPU time of a thread that wants it as much."""


def give_way() -> None:
    """From here on, the calling thread takes what CPU time others leave; so do threads that it starts.

    A fit takes the better part of a second. On a machine of two cores the stream would have one of them for so long,
    and its tuples would be late because somebody wants to know how to keep them in time.
    """
    if sys.platform == "linux":  # elsewhere this would be about a process of that number, whosoever it is
        with suppress(OSError):
            thread = os.PRIO_PROCESS, get_native_id()
            os.setpriority(*thread, max(NICE, os.getpriority(*thread)))
