"""Requirements: bounds on the response time of a path."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from math import inf

WINDOW_S = 300.0
"""A requirement is to hold in every window of this length."""

STEP_S = 30.0
"""The windows slide by half a minute."""

TEXT = re.compile(
    r"\s*(?:mean|p(?P<percent>\d+(?:\.\d+)?))\s*<=?\s*(?P<bound>\d*\.?\d+(?:e[+-]?\d+)?)\s*(?P<unit>ms|s)\s*",
    re.ASCII | re.IGNORECASE,
)


@dataclass(frozen=True)
class Requirement:
    """A bound on the mean or a percentile of the response time of a path.

    ``percent`` is None for the mean.

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

    @classmethod
    def parse(cls, text: str, path: str) -> Requirement:
        """A requirement from its notation.

        >>> Requirement.parse("p99.9 <= 250 ms", "parser>matcher")
        Requirement(path='parser>matcher', bound_s=0.25, percent=99.9)
        """
        found = TEXT.fullmatch(text)
        if found is None:
            raise ValueError(f"a requirement reads like 'mean <= 0.5 s' or 'p95 <= 200 ms'; got {text!r}")
        bound_s = float(found["bound"]) / (1000 if found["unit"].lower() == "ms" else 1)
        return cls(path, bound_s, None if found["percent"] is None else float(found["percent"]))

    @property
    def statistic(self) -> str:
        """``mean``, or ``p95`` and the like."""
        return "mean" if self.percent is None else f"p{self.percent:g}"

    def __str__(self) -> str:
        return f"{self.statistic} of {self.path} <= {self.bound_s:g} s"


def late_bound_s(requirements: Iterable[Requirement]) -> float | None:
    """The response time beyond which a tuple of the path counts as late: the strictest percentile bound there.

    Without one it is the strictest bound of the mean, which single tuples may well exceed; None if nothing is required.

    >>> late_bound_s([Requirement("a", 0.1), Requirement("a", 0.5, percent=95), Requirement("a", 0.9, percent=99)])
    0.5
    >>> late_bound_s([Requirement("a", 0.3), Requirement("a", 0.1)]), late_bound_s([])
    (0.1, None)
    """
    asked = list(requirements)
    percentiles = [r.bound_s for r in asked if r.percent is not None]
    return min(percentiles or [r.bound_s for r in asked], default=None)
