"""A share manager that is closed when the work under it is done."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from mead.cpu.shares import ShareManager

log = logging.getLogger(__name__)


@contextmanager
def lent(shares: ShareManager, warn: Callable[[str], None] = log.warning) -> Iterator[ShareManager]:
    """Close the shares at the end. What cannot be removed then is only a warning: the work done before still counts."""
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
