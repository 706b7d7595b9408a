"""Observers of a session: a terminal, a page, a progress bar, a list of rounds."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from mead.values import Round

if TYPE_CHECKING:
    from mead.session.session import Session


class Observer:
    """Follows a session. All methods do nothing; a subclass overrides the ones it needs."""

    def following(self, session: Session) -> AbstractContextManager[object]:  # noqa: ARG002 - for subclasses
        """The time of the session, from before its engine starts until it has ended."""
        return nullcontext()

    def round(self, this: Round) -> None:
        """Take a round that is over.

        By the wall clock, the thread that watches the session calls this, not the controller's.
        """

    def wait(self, doing: str) -> None:
        """The session waits, for example while queries warm up."""

    def warn(self, what: str) -> None:
        """Something failed, and the session goes on."""
