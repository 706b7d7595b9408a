"""How large a partition may grow before its pane is split: a base from statistics, adapted by the PID."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from math import inf, isfinite, sqrt
from typing import Any

from mead.preference.control.pid import PID, PIDState

LEAST_ALPHA, MOST_ALPHA = 0.1, 20.0

WARM_UP_PANE = 5
"""Nothing is split before a punctuation has passed this pane: until then there are no sizes to judge by."""

PAPER_SET_POINT = 0.9


def splitting_pid(set_point: float = PAPER_SET_POINT) -> PID:
    """The regulator of the released code, with a sample every 250 ms."""
    return PID(set_point, proportional=1.8, derivative=2.0, limit=0.3)


@dataclass(frozen=True)
class Sizes:
    """Mean and spread of partition sizes, kept up to date one by one (Welford 1962).

    >>> sizes = Sizes().with_(2.0).with_(4.0)
    >>> sizes.mean, sizes.std
    (3.0, 1.0)
    """

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0
    """Sum of the squared distances from the mean."""

    def with_(self, size: float) -> Sizes:
        """The statistics with one more size."""
        count = self.count + 1
        off = size - self.mean
        mean = self.mean + off / count
        return Sizes(count, mean, self.squares + off * (size - mean))

    @property
    def std(self) -> float:
        """The standard deviation of the sizes seen, as of a population."""
        return sqrt(self.squares / self.count) if self.count else 0.0


@dataclass(frozen=True)
class Threshold:
    """The splitting threshold: mean and one standard deviation of all partitions closed so far, over alpha.

    The paper writes ``theta = alpha theta_base`` and takes the last closed partitions (section 3.1). The released code
    divides by alpha, which then rises with the load, and takes all partitions since the start. We follow the code: its
    steps and limits of alpha are the published ones, and have this meaning only.

    >>> threshold = Threshold(pid=splitting_pid(0.9)).closed([100.0, 100.0]).past(6)
    >>> threshold.tuples, round(threshold.sampled(1.5).tuples, 1)
    (100.0, 76.9)
    """

    pid: PID | None = field(default_factory=splitting_pid)
    """The regulator of alpha; without one, alpha stays 1."""
    alpha: float = 1.0
    state: PIDState = field(default_factory=PIDState)
    sizes: Sizes = field(default_factory=Sizes)
    warm: bool = False

    @property
    def tuples(self) -> float:
        """A partition with more tuples than this is not added to, if another worker can take over."""
        if not self.warm or not self.sizes.count:
            return inf
        return (self.sizes.mean + self.sizes.std) / self.alpha

    def sampled(self, utilization: float) -> Threshold:
        """The threshold after one period of the regulator. A utilization that is not a number is no measurement."""
        if self.pid is None or not isfinite(utilization):
            return self
        change, state = self.pid.step(self.state, utilization)
        return replace(self, alpha=min(max(self.alpha + change, LEAST_ALPHA), MOST_ALPHA), state=state)

    def closed(self, sizes: Iterable[float]) -> Threshold:
        """The threshold after partitions were closed; empty ones say nothing about sizes."""
        seen = self.sizes
        for size in sizes:
            if size > 0:
                seen = seen.with_(float(size))
        return replace(self, sizes=seen)

    def past(self, pane: int) -> Threshold:
        """The threshold after a punctuation: all panes before this one are closed."""
        return replace(self, warm=self.warm or pane > WARM_UP_PANE)

    def as_json(self) -> dict[str, Any]:
        """The state as plain values, for ``from_json``."""
        return asdict(self)

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Threshold:
        """The threshold that ``as_json`` has written."""
        pid = None if document["pid"] is None else PID(**document["pid"])
        return cls(pid, document["alpha"], PIDState(**document["state"]), Sizes(**document["sizes"]), document["warm"])
