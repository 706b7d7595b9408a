"""Numbers of workers from fuzzy factors, within the limit and the free workers."""

from __future__ import annotations

from dataclasses import dataclass
from math import floor

from mead.preference.control.fuzzy import CODE, SLIGHT_INCREASE, Profile


@dataclass(frozen=True)
class Degrees:
    """Numbers of workers of the pane stage and of the window stage."""

    panes: int
    windows: int

    @property
    def total(self) -> int:
        """Workers of both stages."""
        return self.panes + self.windows


@dataclass(frozen=True)
class DegreeController:
    """The outer level of control: turns measurements into new degrees, every few seconds."""

    most: int
    """Maximum workers of both stages together."""
    profile: Profile = CODE

    def propose(self, now: Degrees, panes: float, splitting: float, windows: float) -> Degrees:
        """Return the degrees that the rules ask for, within the limit.

        >>> DegreeController(59).propose(Degrees(24, 34), panes=1.5, splitting=3.0, windows=0.9)
        Degrees(panes=27, windows=32)
        """
        factor_1, factor_2 = self.profile.factors(panes, splitting, windows)
        n, m = (self._scaled(now.panes, factor_1), self._scaled(now.windows, factor_2))
        if n + m > self.most:
            share = self.most / (n + m)
            n, m = max(1, round_half_up(share * n)), max(1, round_half_up(share * m))
            if n + m > self.most:
                n -= 1
        return Degrees(n, m)

    def grant(self, now: Degrees, wanted: Degrees) -> Degrees:
        """Return the degrees that the pool allows.

        The pane stage is served first and gets only workers that are free before the step, even if the window stage
        returns some at the same time.

        >>> DegreeController(59).grant(Degrees(24, 34), Degrees(27, 32))
        Degrees(panes=25, windows=32)
        """
        panes = min(wanted.panes, now.panes + max(0, self.most - now.total))
        windows = min(wanted.windows, now.windows + max(0, self.most - panes - now.windows))
        return Degrees(panes, windows)

    def _scaled(self, degree: int, factor: float) -> int:
        """Multiply and round, with exceptions for degrees that rounding would never leave or never keep."""
        if self.profile.small_fixes:
            if degree == 1 and factor >= SLIGHT_INCREASE:
                return 2
            if (degree == 2 and 0.563 <= factor < 1.25) or (degree == 3 and 0.793 <= factor < 1.17):
                return degree
        return max(1, round_half_up(degree * factor))


def round_half_up(value: float) -> int:
    """Round to the nearest integer, halves up.

    >>> round_half_up(42.5), round_half_up(2.4)
    (43, 2)
    """
    return floor(value + 0.5)
