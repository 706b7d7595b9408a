"""From factors to workers: rounding, the limit on all workers, and what the pool of free ones allows."""

from __future__ import annotations

from dataclasses import dataclass
from math import floor

from mead.preference.control.fuzzy import CODE, SLIGHT_INCREASE, Profile


@dataclass(frozen=True)
class Degrees:
    """Workers of the pane stage and of the window stage."""

    panes: int
    windows: int

    @property
    def total(self) -> int:
        """The workers of both stages."""
        return self.panes + self.windows


@dataclass(frozen=True)
class Controller:
    """The outer level: turns measurements into new degrees, every few seconds."""

    most: int
    """The most workers that both stages may have together."""
    profile: Profile = CODE

    def wanted(self, now: Degrees, panes: float, splitting: float, windows: float) -> Degrees:
        """What the rules ask for, within the limit.

        >>> Controller(59).wanted(Degrees(24, 34), panes=1.5, splitting=3.0, windows=0.9)
        Degrees(panes=27, windows=32)
        """
        factor_1, factor_2 = self.profile.factors(panes, splitting, windows)
        n, m = (self._scaled(now.panes, factor_1), self._scaled(now.windows, factor_2))
        if n + m > self.most:
            share = self.most / (n + m)
            n, m = max(1, rounded(share * n)), max(1, rounded(share * m))
            if n + m > self.most:
                n -= 1
        return Degrees(n, m)

    def granted(self, now: Degrees, wanted: Degrees) -> Degrees:
        """What the pool allows: the pane stage is served first, and finds only the workers free before the step.

        So it may get fewer although the window stage gives some back at the same time.

        >>> Controller(59).granted(Degrees(24, 34), Degrees(27, 32))
        Degrees(panes=25, windows=32)
        """
        panes = min(wanted.panes, now.panes + max(0, self.most - now.total))
        windows = min(wanted.windows, now.windows + max(0, self.most - panes - now.windows))
        return Degrees(panes, windows)

    def _scaled(self, degree: int, factor: float) -> int:
        """The degree times the factor, rounded. Plain rounding would never leave, or never keep, some small degrees."""
        if self.profile.small_fixes:
            if degree == 1 and factor >= SLIGHT_INCREASE:
                return 2
            if (degree == 2 and 0.563 <= factor < 1.25) or (degree == 3 and 0.793 <= factor < 1.17):
                return degree
        return max(1, rounded(degree * factor))


def rounded(value: float) -> int:
    """The nearest whole number, halves rounded up.

    >>> rounded(42.5), rounded(2.4)
    (43, 2)
    """
    return floor(value + 0.5)
