"""How fast a path must answer."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

WINDOW_S = 300.0
"""A requirement is to hold in every window of this length."""


@dataclass(frozen=True)
class Requirement:
    """The mean (``percent`` is None) or a percentile of the response time on a path must not exceed ``bound_s``.

    >>> str(Requirement("parser>matcher", bound_s=0.5, percent=95))
    'p95 of parser>matcher <= 0.5 s'
    """

    path: str
    bound_s: float
    percent: float | None = None

    def __post_init__(self) -> None:
        if not 0 < self.bound_s < inf:
            raise ValueError(f"requirement on {self.path}: the bound must be above 0 s; got {self.bound_s:g}")
        if self.percent is not None and not 0 < self.percent < 100:
            raise ValueError(f"requirement on {self.path}: a percentile lies between 0 and 100; got {self.percent:g}")

    @property
    def statistic(self) -> str:
        """``mean``, or ``p95`` and the like."""
        return "mean" if self.percent is None else f"p{self.percent:g}"

    def __str__(self) -> str:
        return f"{self.statistic} of {self.path} <= {self.bound_s:g} s"
