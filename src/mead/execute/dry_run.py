"""Shares that are only remembered: to observe, to advise, and where the machine allows no more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from mead.execute.limit import BURST_US, PERIOD_US, Limit


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
        """Remember it."""
        Limit.of(share, self._period_us, self._burst_us)  # refuse what a real manager would refuse
        self._shares[self._known(operator)] = share

    def weigh(self, processes: int) -> None:
        """Nobody competes."""

    def usage(self, operator: str) -> None:
        """Nothing is measured."""
        self._known(operator)

    def group(self, operator: str) -> str:
        """Nothing to join."""
        self._known(operator)
        return ""

    def processes(self, operator: str) -> tuple[int, ...]:
        """Nobody joins."""
        self._known(operator)
        return ()

    def close(self) -> None:
        """Nothing was made, so nothing is removed."""

    def _known(self, operator: str) -> str:
        if operator not in self._operators:
            raise ValueError(f"no operator {operator!r}; there are {', '.join(self._operators)}")
        return operator
