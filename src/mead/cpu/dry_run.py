"""Shares that are only remembered: for observing and advising, and for machines that do not allow more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from mead.cpu.limit import BURST_US, PERIOD_US, Limit


class DryRunShares:
    """Accepts what a real manager accepts, and changes nothing.

    >>> shares = DryRunShares(["parser", "matcher"])
    >>> shares.set_share("matcher", 0.4)
    >>> dict(shares.shares)
    {'matcher': 0.4}
    """

    def __init__(self, operators: Sequence[str], *, period_us: int = PERIOD_US, burst_us: int = BURST_US) -> None:
        self._operators = tuple(operators)
        self._period_us, self._burst_us = period_us, burst_us
        self._shares: dict[str, float] = {}

    @property
    def shares(self) -> Mapping[str, float]:
        """The last share of every operator that was given one."""
        return MappingProxyType(self._shares)

    def set_share(self, operator: str, share: float) -> None:
        """Remember the share."""
        Limit.of(share, self._period_us, self._burst_us)  # refuse what a real manager would refuse
        self._shares[self._known(operator)] = share

    def weigh(self, processes: int) -> None:
        """Do nothing: no process competes under this manager."""

    def usage(self, operator: str) -> None:
        """Return None: nothing is measured."""
        self._known(operator)

    def group(self, operator: str) -> str:
        """Return an empty name: there is no group to join."""
        self._known(operator)
        return ""

    def processes(self, operator: str) -> tuple[int, ...]:
        """Return no processes: none can join."""
        self._known(operator)
        return ()

    def close(self) -> None:
        """Do nothing: no group was made."""

    def _known(self, operator: str) -> str:
        if operator not in self._operators:
            raise ValueError(f"no operator {operator!r}; there are {', '.join(self._operators)}")
        return operator
