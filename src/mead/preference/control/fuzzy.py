"""Fuzzy controller of the outer level: worker counts of both stages.

Takagi-Sugeno of order zero (Elastic-PPQ, section 4.2). Twelve rules give factors for the degrees of the two stages;
each rule holds to the degree of its weakest condition. There are two profiles, because the paper and the authors'
released code differ in the fuzzy sets of the splitting factor and in how rules with one outcome add up.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from math import isnan

DECREASE, SLIGHT_DECREASE, UNCHANGED, SLIGHT_INCREASE, INCREASE = 0.5, 0.75, 1.0, 1.25, 1.5
"""Table 1 of the paper."""

MOST_UTILIZATION = 2.0
"""Measurements are clipped to this value."""

NEGLIGIBLE = 1e-6
"""Rules whose degree is not above this do not count."""


class Speed(Enum):
    """Speed of a stage, by its utilization factor."""

    FAST = "fast"
    ACCEPTABLE = "acceptable"
    SLOW = "slow"


class Intensity(Enum):
    """Intensity of splitting, by the mean number of partitions."""

    MODERATE = "moderate"
    INTENSIVE = "intensive"


@dataclass(frozen=True)
class FuzzyRule:
    """One row of Table 2 of the paper."""

    panes: Speed
    splitting: Intensity | None
    windows: Speed
    factor_1: float
    factor_2: float


_F, _A, _S, _M, _I = Speed.FAST, Speed.ACCEPTABLE, Speed.SLOW, Intensity.MODERATE, Intensity.INTENSIVE

RULES = (
    FuzzyRule(_F, None, _F, DECREASE, DECREASE),
    FuzzyRule(_F, None, _A, DECREASE, UNCHANGED),
    FuzzyRule(_F, None, _S, DECREASE, INCREASE),
    FuzzyRule(_A, _M, _F, UNCHANGED, DECREASE),
    FuzzyRule(_A, _M, _A, UNCHANGED, UNCHANGED),
    FuzzyRule(_A, _M, _S, UNCHANGED, INCREASE),
    FuzzyRule(_A, _I, _F, SLIGHT_INCREASE, DECREASE),
    FuzzyRule(_A, _I, _A, SLIGHT_INCREASE, UNCHANGED),
    FuzzyRule(_A, _I, _S, UNCHANGED, INCREASE),
    FuzzyRule(_S, None, _F, INCREASE, SLIGHT_DECREASE),
    FuzzyRule(_S, None, _A, INCREASE, SLIGHT_INCREASE),
    FuzzyRule(_S, None, _S, SLIGHT_INCREASE, INCREASE),
)


def interpolate(x: float, *corners: tuple[float, float]) -> float:
    """Interpolate between corners, level before the first and after the last.

    >>> interpolate(0.6, (0.5, 1.0), (0.9, 0.0))
    0.75
    """
    if x <= corners[0][0]:
        return corners[0][1]
    for (left, low), (right, high) in pairwise(corners):
        if x <= right:
            return low + (high - low) * (x - left) / (right - left)
    return corners[-1][1]


def speed_grades(utilization: float) -> dict[Speed, float]:
    """Return the degrees to which a stage is fast, acceptable and slow (Fig. 7, left).

    >>> [round(grade, 9) for grade in speed_grades(0.6).values()]
    [0.75, 0.25, 0.0]
    """
    return {
        Speed.FAST: interpolate(utilization, (0.5, 1.0), (0.9, 0.0)),
        Speed.ACCEPTABLE: interpolate(utilization, (0.5, 0.0), (0.9, 1.0), (1.3, 0.0)),
        Speed.SLOW: interpolate(utilization, (0.9, 0.0), (1.3, 1.0)),
    }


@dataclass(frozen=True)
class Profile:
    """Parameters in which the paper and the released code differ."""

    moderate: tuple[float, float]
    """Moderate with grade 1 up to the first splitting factor, with grade 0 from the second on."""
    intensive: tuple[float, float]
    """Intensive with grade 0 up to the first, with grade 1 from the second on."""
    strongest: bool
    """Whether only the strongest rule of each outcome counts (the code's library), or all (the paper)."""
    small_fixes: bool
    """Whether degrees of one to three workers have special rounding (the code)."""

    def splitting_grades(self, splitting: float) -> dict[Intensity, float]:
        """Return the degrees of Fig. 7, right. Below 1, which no pane has, both are 0."""
        if splitting < 1:
            return dict.fromkeys(Intensity, 0.0)
        return {
            Intensity.MODERATE: interpolate(splitting, (self.moderate[0], 1.0), (self.moderate[1], 0.0)),
            Intensity.INTENSIVE: interpolate(splitting, (self.intensive[0], 0.0), (self.intensive[1], 1.0)),
        }

    def factors(self, panes: float, splitting: float, windows: float) -> tuple[float, float]:
        """Return the factors for the degrees of the pane stage and of the window stage.

        >>> CODE.factors(0.6, 1.0, 0.6)
        (0.625, 0.625)
        >>> [round(factor, 6) for factor in PAPER.factors(0.6, 1.0, 0.6)]
        [0.666667, 0.666667]
        """
        degrees = self.rule_degrees(panes, splitting, windows)
        first = [(degree, rule.factor_1) for degree, rule in zip(degrees, RULES, strict=True)]
        second = [(degree, rule.factor_2) for degree, rule in zip(degrees, RULES, strict=True)]
        return self._average(first), self._average(second)

    def rule_degrees(self, panes: float, splitting: float, windows: float) -> list[float]:
        """Return the degree of each rule. If the splitting factor is NaN, conditions on it are ignored."""
        of_panes = speed_grades(min(panes, MOST_UTILIZATION))
        of_windows = speed_grades(min(windows, MOST_UTILIZATION))
        of_splitting = dict.fromkeys(Intensity, 1.0) if isnan(splitting) else self.splitting_grades(splitting)
        return [
            min(
                of_panes[rule.panes],
                1.0 if rule.splitting is None else of_splitting[rule.splitting],
                of_windows[rule.windows],
            )
            for rule in RULES
        ]

    def _average(self, weighted: list[tuple[float, float]]) -> float:
        """Return the mean outcome, weighted by the degrees of the rules; no change if no rule holds."""
        active = [(degree, outcome) for degree, outcome in weighted if degree > NEGLIGIBLE]
        if self.strongest:
            active = [
                (max(d for d, o in active if o == outcome), outcome) for outcome in sorted({o for _, o in active})
            ]
        total = sum(degree for degree, _ in active)
        return sum(degree * outcome for degree, outcome in active) / total if active else UNCHANGED


CODE = Profile(moderate=(2.0, 5.0), intensive=(2.0, 3.5), strongest=True, small_fixes=True)
"""The released code with its library. 99 % of 18,432 logged decisions follow it; the rest are ties of rounding."""

PAPER = Profile(moderate=(1.5, 4.5), intensive=(1.5, 4.5), strongest=False, small_fixes=False)
"""Fig. 7 and Tables 1 and 2, read literally."""

PROFILES = {"code": CODE, "paper": PAPER}
"""The profiles by the names that users choose from."""
