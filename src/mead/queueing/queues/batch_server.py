"""The server of a micro-batch query: everything that waits when a batch starts is served together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mead.arrays import FloatArray


@dataclass(frozen=True)
class BatchServer:
    """A gated batch server: a batch of n tuples takes ``overhead_s + n * demand_s / share``.

    Tuples that arrive while a batch runs wait for the next one, and all tuples of a batch leave together at its end.
    The next batch starts at once if anything waits, and otherwise with the next arrival. Two options change that, as
    they do in Spark:

    - ``trigger_s``: a batch starts at the first multiple of this interval after the start of the one before, or right
      after that one if it ran longer. A tick that finds nothing waiting is let pass.
    - ``max_batch``: no batch takes more tuples than this; the first come go first.

    >>> server = BatchServer(overhead_s=0.1, demand_s=0.0015, share=0.5)
    >>> round(server.duration_s(100), 9), round(server.utilization(250.0), 9)
    (0.4, 0.75)
    >>> round(BatchServer(0.1, 0.001, max_batch=100).utilization(400.0), 9)
    0.8
    """

    overhead_s: float
    demand_s: float
    share: float = 1.0
    trigger_s: float | None = None
    max_batch: int | None = None

    def __post_init__(self) -> None:
        if not (self.overhead_s >= 0 and self.demand_s > 0 and self.share > 0):
            raise ValueError(
                f"a batch server needs overhead_s >= 0, demand_s > 0 and share > 0; "
                f"got {self.overhead_s:g}, {self.demand_s:g} and {self.share:g}"
            )
        if self.trigger_s is not None and not self.trigger_s > 0:
            raise ValueError(f"a trigger interval must be longer than 0 s (None: no trigger); got {self.trigger_s:g}")
        if self.max_batch is not None and self.max_batch < 1:
            raise ValueError(f"a batch must be allowed at least one tuple (None: no limit); got {self.max_batch}")

    @property
    def per_tuple_s(self) -> float:
        """Time that one more tuple adds to a batch."""
        return self.demand_s / self.share

    def duration_s(self, tuples: float) -> float:
        """Duration of a batch of ``tuples``."""
        return self.overhead_s + tuples * self.per_tuple_s

    def utilization(self, rate_per_s: float) -> float:
        """Load in the busiest case, that of large batches; the queue is stable if it is below 1.

        The overhead counts only if batches are limited: it is paid once per batch, and batches grow with the load.
        A trigger longer than the largest batch then sets the pace.
        """
        if self.max_batch is None:
            return rate_per_s * self.per_tuple_s
        return rate_per_s * float(self.cycle_s(np.array(self.max_batch))) / self.max_batch

    def batch(self, waiting: FloatArray) -> FloatArray:
        """Number of waiting tuples that the next batch takes."""
        return waiting if self.max_batch is None else np.minimum(waiting, self.max_batch)

    def cycle_s(self, waiting: FloatArray) -> FloatArray:
        """From the start of a batch, with so many tuples waiting, to the earliest start of the next."""
        running_s = self.overhead_s + self.batch(waiting) * self.per_tuple_s
        return np.maximum(running_s, self.trigger_s or 0.0)
