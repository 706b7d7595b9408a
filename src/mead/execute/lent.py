"""Shares for as long as something runs under them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from mead.execute.shares import ShareManager

log = logging.getLogger(__name__)


@contextmanager
def lent(shares: ShareManager, warn: Callable[[str], None] = log.warning) -> Iterator[ShareManager]:
    """Closed at the end. What cannot be removed then is told, and takes nothing else with it: what was done counts."""
    try:
        yield shares
    finally:
        try:
            shares.close()
        except OSError as error:
            warn(
                f"{error.filename or 'a control group'} could not be removed ({error.strerror or error}): "
                "it limits nobody, and the next run removes it when the processes in it have ended"
            )
