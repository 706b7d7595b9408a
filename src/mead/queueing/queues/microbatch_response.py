"""The distribution of the response time of a micro-batch server."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil, log2

import numpy as np

from mead.arrays import FloatArray
from mead.queueing.queues.batch_server import BatchServer
from mead.queueing.queues.batch_states import BatchStates, Idling
from mead.queueing.queues.counts import CountLaw

POINTS_PER_OCTAVE = 12
"""Lengths of a cycle at which the distribution is summed up."""

SCALED_TIMES = np.concatenate([np.linspace(0.0, 2.5, 161), np.geomspace(2.5, 1e6, 160)[1:]])
"""Response times beyond the overhead, in units of ``clear_s``. Most are within 2, one cycle and one batch; but a burst
that begins in a very short cycle makes for a batch that is many times as long."""

MAX_STEPS = 24
"""Batches ahead of a tuple's own that are told apart; if there can be more, several of them make one step."""

SEARCH_POINTS = 65
"""Times tried at once when a percentile is looked for."""


@dataclass(frozen=True, eq=False)
class ResponseTable:
    """Expected late tuples, by the cycle in which they arrive.

    Cycles of different lengths are alike if time is measured in their length. So the distribution is found for the
    few states of the chain and, scaled, interpolated for all lengths between.
    """

    overhead_s: float
    cycle_s: FloatArray
    """Scale of each row."""
    late: FloatArray = field(repr=False)
    """Entry (row, scaled time): expected tuples of these cycles that take longer."""
    lone_s: float
    """Response time of a tuple that finds the server idle and is served at once."""
    lone: float
    """How many such tuples there are per cycle."""

    @classmethod
    def of(
        cls,
        states: BatchStates,
        idling: Idling,
        rate_per_s: float,
        starts: tuple[FloatArray, FloatArray],
        empty: FloatArray,
    ) -> ResponseTable:
        """Sum up over the stationary law of the batch starts."""
        server, waiting = states.server, starts[0]
        kept = np.flatnonzero(states.at_s > 0)
        at = states.at_s[kept]
        shortest = max(at[0], float(server.cycle_s(np.ones(1))[0]))
        rows = ceil(log2(at[-1] / shortest) * POINTS_PER_OCTAVE) + 1
        fine = shortest * 2 ** (np.arange(rows) / POINTS_PER_OCTAVE)
        mass = _linear(states.clear_s(waiting), fine).T @ starts[1]
        near = _linear(np.log(fine), np.log(at))
        cycles = np.minimum(fine, at[states.bend - (states.at_s.size - at.size)])
        late = np.zeros((rows, SCALED_TIMES.size))
        for column, k in enumerate(kept):
            law, left = states.laws[k], float(states.left[k])
            scaled = near[:, column] * cycles / law.span_s
            touched = np.flatnonzero(scaled)
            table = _late_arrivals(law, left, server, rate_per_s, at[column])
            late[touched] += (scaled[touched, None] * mass[touched]) @ table
        if idling.law is None:
            return cls(server.overhead_s, fine, late, server.duration_s(1), float(empty.sum()))
        waiting_for_tick = empty @ idling.ticks @ _late_arrivals(idling.law, 0.0, server, rate_per_s, idling.law.span_s)
        return cls(server.overhead_s, np.append(fine, idling.law.span_s), np.vstack([late, waiting_for_tick]), 0.0, 0.0)

    def late_fraction(self, t_s: FloatArray) -> FloatArray:
        """``P(R > t)``, for several times."""
        scaled = np.maximum(t_s[:, None] - self.overhead_s, 0.0) / self.cycle_s
        column = np.clip(np.searchsorted(SCALED_TIMES, scaled, side="right") - 1, 0, SCALED_TIMES.size - 2)
        step = np.minimum((scaled - SCALED_TIMES[column]) / np.diff(SCALED_TIMES)[column], 1.0)
        rows = np.arange(self.cycle_s.size)
        late = self.late[rows, column] * (1 - step) + self.late[rows, column + 1] * step
        late_alone = self.lone * (t_s < self.lone_s)
        return np.asarray((late.sum(axis=1) + late_alone) / (self.late[:, 0].sum() + self.lone))

    def percentile_s(self, late: float) -> float:
        """The shortest time that no more than ``late`` of the tuples exceed."""
        low, high = self.overhead_s, self.overhead_s + float(SCALED_TIMES[-1] * self.cycle_s.max())
        times = np.concatenate([[low], low + np.geomspace(1e-6, 1.0, SEARCH_POINTS) * (high - low)])
        for _ in range(6):
            # The weights of the states are not all positive; whatever ripples that leaves are smoothed out.
            fractions = np.minimum.accumulate(self.late_fraction(times))
            index = max(1, int(np.searchsorted(-fractions, -late)))
            if index >= times.size:
                return float(times[-1])
            low, high = float(times[index - 1]), float(times[index])
            times = np.linspace(low, high, SEARCH_POINTS)
        return high


def _linear(points: FloatArray, nodes: FloatArray) -> FloatArray:
    """Weights (point, node) of linear interpolation; points outside belong to the node at that end."""
    weights = np.zeros((points.size, nodes.size))
    rows = np.arange(points.size)
    if nodes.size == 1:
        weights[:, 0] = 1.0
        return weights
    lower = np.clip(np.searchsorted(nodes, points, side="right") - 1, 0, nodes.size - 2)
    step = np.clip((points - nodes[lower]) / (nodes[lower + 1] - nodes[lower]), 0.0, 1.0)
    weights[rows, lower] = 1 - step
    weights[rows, lower + 1] = step
    return weights


def _late_arrivals(law: CountLaw, left: float, server: BatchServer, rate_per_s: float, scale_s: float) -> FloatArray:
    """Entry (phase, scaled time): expected arrivals in a cycle whose response is longer.

    An arrival at fraction f of the cycle waits ``(1 - f) span``, then for the batches before its own, then for its
    own. Within a part of the span the arrivals are spread evenly.
    """
    times = server.overhead_s + scale_s * SCALED_TIMES
    late = np.zeros((law.none.shape[0], SCALED_TIMES.size))
    for part in law.parts:
        arrived = np.maximum(part.tuples, 0.5)
        most = float(server.max_batch or left + arrived[-1] + 1)
        full_cycle_s = float(server.cycle_s(np.array(most)))
        first, last = int(left / most), int((left + arrived[-1]) / most)
        step = ceil((last - first + 1) / MAX_STEPS)
        for before in range(first, last + 1, step):
            begin, end = (
                np.clip((batches * most - left) / arrived, part.begin, part.end) for batches in (before, before + step)
            )
            # A batch that is not full yet goes on filling while the ones before it run.
            size = np.clip(left + arrived - before * (most - full_cycle_s * rate_per_s), 1.0, most)
            own_s = server.overhead_s + size * server.per_tuple_s
            at_begin_s = (1 - begin) * law.span_s + before * full_cycle_s + own_s
            reached = np.clip(np.ceil((left + end * arrived) / most) - 1, before, before + step - 1)
            at_end_s = (1 - end) * law.span_s + reached * full_cycle_s + own_s
            longest_s, shortest_s = np.maximum(at_begin_s, at_end_s), np.minimum(at_begin_s, at_end_s)
            # Only between these columns does it matter when in the cycle a tuple came.
            columns = slice(*np.searchsorted(times, [shortest_s.min(), longest_s.max()]))
            spread_s = np.maximum(longest_s - shortest_s, 1e-9 * law.span_s)
            fraction = np.clip((longest_s[:, None] - times[columns]) / spread_s[:, None], 0.0, 1.0)
            expected = part.expected.T * ((end - begin) / (part.end - part.begin))
            late[:, columns] += expected @ fraction
            late[:, : columns.start] += expected.sum(axis=1, keepdims=True)
    return late
