"""Who goes first when CPUs are short: the stream, before the controller."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from threading import get_native_id

NICE = 10
"""The default of ``nice``: about a tenth of the CPU time of a normal thread that competes with it."""


def give_way() -> None:
    """Lower the priority of the calling thread, and of threads that it starts from now on.

    A fit takes the better part of a second. On a machine with two cores, the stream would have only one of them for
    that long, and its tuples would be late because somebody wants to know how to keep them on time.
    """
    if sys.platform == "linux":  # elsewhere that number would name some process, not this thread
        with suppress(OSError):
            thread = os.PRIO_PROCESS, get_native_id()
            os.setpriority(*thread, max(NICE, os.getpriority(*thread)))
