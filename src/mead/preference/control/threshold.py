"""The partition size from which a pane is split."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from math import inf, isfinite, sqrt
from typing import Any

from mead.preference.control.pid import PID, PIDState

LEAST_ALPHA, MOST_ALPHA = 0.1, 20.0

WARM_UP_PANE = 5
"""No pane is split before a punctuation has passed this one: until then there are no sizes to judge by."""

PAPER_SET_POINT = 0.9


def splitting_pid(set_point: float = PAPER_SET_POINT) -> PID:
    """Return the regulator of the released code, with a sample every 250 ms."""
    return PID(set_point, proportional=1.8, derivative=2.0, limit=0.3)


@dataclass(frozen=True)
class Sizes:
    """Running mean and deviation of partition sizes (Welford 1962).

    >>> sizes = Sizes().add(2.0).add(4.0)
    >>> sizes.mean, sizes.std
    (3.0, 1.0)
    """

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0
    """Sum of squared distances from the mean."""

    def add(self, size: float) -> Sizes:
        """Return the statistics with one more size."""
        count = self.count + 1
        off = size - self.mean
        mean = self.mean + off / count
        return Sizes(count, mean, self.squares + off * (size - mean))

    @property
    def std(self) -> float:
        """Population standard deviation."""
        return sqrt(self.squares / self.count) if self.count else 0.0


@dataclass(frozen=True)
class Threshold:
    """Splitting threshold: mean plus one standard deviation of all closed partitions, divided by alpha.

    The paper writes ``theta = alpha theta_base`` and uses the last closed partitions (section 3.1). The released code
    divides by alpha, which then rises with the load, and uses all partitions since the start. We follow the code: the
    published steps and limits of alpha have that meaning.

    >>> threshold = Threshold(pid=splitting_pid(0.9)).after_closing([100.0, 100.0]).after_punctuation(6)
    >>> threshold.tuples, round(threshold.after_sample(1.5).tuples, 1)
    (100.0, 76.9)
    """

    pid: PID | None = field(default_factory=splitting_pid)
    """Regulator of alpha; without one, alpha stays 1."""
    alpha: float = 1.0
    state: PIDState = field(default_factory=PIDState)
    sizes: Sizes = field(default_factory=Sizes)
    warm: bool = False

    @property
    def tuples(self) -> float:
        """The size above which a partition gets no more tuples if another worker can take over."""
        if not self.warm or not self.sizes.count:
            return inf
        return (self.sizes.mean + self.sizes.std) / self.alpha

    def after_sample(self, utilization: float) -> Threshold:
        """Return the threshold after a period of the regulator. A utilization of NaN is no measurement."""
        if self.pid is None or not isfinite(utilization):
            return self
        change, state = self.pid.step(self.state, utilization)
        return replace(self, alpha=min(max(self.alpha + change, LEAST_ALPHA), MOST_ALPHA), state=state)

    def after_closing(self, sizes: Iterable[float]) -> Threshold:
        """Return the threshold after partitions were closed; empty ones do not count."""
        seen = self.sizes
        for size in sizes:
            if size > 0:
                seen = seen.add(float(size))
        return replace(self, sizes=seen)

    def after_punctuation(self, pane: int) -> Threshold:
        """Return the threshold after all panes before this one were closed."""
        return replace(self, warm=self.warm or pane > WARM_UP_PANE)

    def as_json(self) -> dict[str, Any]:
        """Return the state as plain values, for ``from_json``."""
        return asdict(self)

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Threshold:
        """Restore the state of ``as_json``."""
        pid = None if document["pid"] is None else PID(**document["pid"])
        return cls(pid, document["alpha"], PIDState(**document["state"]), Sizes(**document["sizes"]), document["warm"])
