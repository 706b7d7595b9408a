"""States of a micro-batch server: a few cycle lengths, and an idle server.

A cycle runs from the start of a batch to the earliest start of the next. Its state is ``clear_s``, the time to clear
what waits at its start: the length of the cycle, and in proportion more if not all of it fits into one batch.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from math import ceil, log2

import numpy as np

from mead.arrays import FloatArray
from mead.queueing.map import MAP
from mead.queueing.queues.batch_server import BatchServer
from mead.queueing.queues.counts import CountLaw, CountLaws

CYCLES_PER_OCTAVE = (1.0, 1.5)
"""Each costs a law of the arrivals. Four instead change the mean by less than 0.2 %, and few percentiles by 2 %."""

BACKLOGS_PER_OCTAVE = (1.25, 1.5, 1.75, 2.0)
"""These share one law, and a backlog moves in small steps, so they are cheap and have to be closer."""

STENCIL = 4
"""States that take part in one interpolation: cubic."""

NARROW = 0.25
"""Relative deviation of the cycle length below which states have to stand closer than any fixed number per octave."""

TINY = 1e-4
"""A relative deviation below this counts as none."""


@dataclass(frozen=True, eq=False)
class BatchStates:
    """Collocation points on the scale of ``clear_s``, with the law of the arrivals during each cycle."""

    server: BatchServer
    anchor_s: float
    """A cycle length that must be met exactly: that of a full batch, or else the shortest."""
    spans: CountLaws = field(repr=False)
    """The laws of multiples of the anchor."""
    multiples: tuple[float, ...]
    """Cycle lengths in units of the anchor, ascending; none of these leaves tuples behind."""
    backlogs: tuple[float, ...]
    """Tuples waiting, in units of the maximum batch, ascending and all above 1."""
    lowest: CountLaw | None = field(repr=False)
    """The shortest cycle, that of an empty batch or of a trigger, if the multiples do not contain it."""

    @classmethod
    def spanning(cls, arrivals: MAP, server: BatchServer, shelf: dict[float, CountLaws]) -> BatchStates:
        """States from the shortest cycle to the longest that occurs now and then.

        The load and the burstiness of the queue decide how long that is.

        ``shelf`` keeps laws by anchor. Servers of different speed can share them if their overhead is the anchor.
        """
        utilization = server.utilization(arrivals.rate_per_s)
        zero_s, one_s = (float(t) for t in server.cycle_s(np.array([0.0, 1.0])))
        burst_s = arrivals.idc_limit * utilization / arrivals.rate_per_s / (1 - utilization)
        longest_s = 4 * max(one_s, server.overhead_s / (1 - utilization)) + 10 * burst_s
        full_s = float(server.cycle_s(np.array(server.max_batch or np.inf)))
        if full_s > 8 * longest_s:
            server = replace(server, max_batch=None)  # a limit that is never met
        if server.max_batch is None:
            anchor_s = zero_s if zero_s > 0.5 * one_s else one_s
            octaves = max(2, ceil(log2(longest_s / anchor_s)))
            multiples = [m * 2.0**k for k in range(octaves) for m in CYCLES_PER_OCTAVE]
            backlogs = []
        else:
            anchor_s = full_s
            multiples = [1.0]
            while multiples[0] * anchor_s > max(one_s, 1.5 * zero_s):
                multiples.insert(0, multiples[0] * (0.75 if len(multiples) % 2 else 2 / 3))
            octaves = max(2, ceil(log2(longest_s / anchor_s)))
            backlogs = [m * 2.0**k for k in range(octaves) for m in BACKLOGS_PER_OCTAVE]
        if anchor_s not in shelf:
            shelf[anchor_s] = CountLaws(arrivals, anchor_s, halvings=2 + len(multiples) // 2 if backlogs else 1)
        lowest = CountLaws(arrivals, zero_s, halvings=0).law(1) if zero_s < 0.97 * multiples[0] * anchor_s else None
        return cls(server, anchor_s, shelf[anchor_s], tuple(multiples), tuple(backlogs), lowest)

    def extended(self) -> BatchStates:
        """The same states, and one octave more."""
        if self.backlogs:
            last = self.backlogs[-len(BACKLOGS_PER_OCTAVE) :]
            return replace(self, backlogs=self.backlogs + tuple(2 * m for m in last))
        last = self.multiples[-len(CYCLES_PER_OCTAVE) :]
        return replace(self, multiples=self.multiples + tuple(2 * m for m in last))

    def refined(self, mean_s: float, deviation_s: float) -> BatchStates:
        """More states where cycles mostly are. The mean can do without them, percentiles cannot."""
        mean, relative = mean_s / self.anchor_s, deviation_s / mean_s
        if relative < TINY:
            return self  # all cycles are alike, as with a trigger that is always kept
        if relative < NARROW:
            reach = [relative]
            while reach[-1] < 0.3:
                reach.append(2 * reach[-1])
            wanted = [mean * (1 + offset) for offset in (*reversed([-r for r in reach]), 0.0, *reach)]
            wanted = [self.spans.nearest(multiple, relative / 4) for multiple in wanted]
        else:
            low, high = mean / 4, mean * (1 + 5 * relative)
            pairs = [(a, b) for a, b in pairwise(self.multiples) if b > low and a < high]
            wanted = [(a + b) / 2 for a, b in pairs]
        multiples = list(self.multiples)
        for multiple in wanted:
            distance = min(abs(multiple - known) for known in multiples)
            if multiples[0] < multiple < self.multiples[-1] and distance > min(0.3 * relative, 0.05) * multiple:
                multiples.append(multiple)
        return replace(self, multiples=tuple(sorted(multiples)))

    @cached_property
    def laws(self) -> list[CountLaw]:
        """Arrivals during the cycle of each state."""
        lowest = [] if self.lowest is None else [self.lowest]
        cycles = [self.spans.law(multiple) for multiple in self.multiples]
        return lowest + cycles + [cycles[-1]] * len(self.backlogs)

    @cached_property
    def at_s(self) -> FloatArray:
        """``clear_s`` of each state."""
        lowest = [] if self.lowest is None else [self.lowest.span_s]
        return np.array([*lowest, *(m * self.anchor_s for m in self.multiples + self.backlogs)])

    @cached_property
    def left(self) -> FloatArray:
        """Tuples that the batch of each state leaves waiting."""
        behind = [(m - 1) * (self.server.max_batch or 0) for m in self.backlogs]
        return np.concatenate([np.zeros(self.bend + 1), behind])

    @property
    def bend(self) -> int:
        """The last state that leaves nothing: beyond it, more tuples do not make the cycle longer."""
        return len(self.multiples) - (self.lowest is None)

    def clear_s(self, waiting: FloatArray) -> FloatArray:
        """The coordinate of a start with so many tuples waiting."""
        return self.server.cycle_s(waiting) * np.maximum(1.0, waiting / (self.server.max_batch or np.inf))

    def interpolation(self, clear_s: FloatArray) -> FloatArray:
        """Weights (point, state) of piecewise cubic interpolation, never across the bend.

        Points beyond the last state are moved to it.
        """
        at = self.at_s
        points = np.minimum(clear_s, at[-1])
        weights = np.zeros((points.size, at.size))
        beyond = points > at[self.bend]
        for rows, columns in ((~beyond, range(self.bend + 1)), (beyond, range(self.bend, at.size))):
            weights[np.ix_(rows, columns)] = _lagrange(points[rows], at[columns])
        return weights


@dataclass(frozen=True, eq=False)
class Idling:
    """From the moment a server finds nothing waiting to the next start of a batch."""

    waiting: FloatArray
    """Tuples that may wait at that start."""
    mass: FloatArray = field(repr=False)
    """Entry (cell, i, j): so many wait, and the phase is then j, from phase i."""
    area: FloatArray = field(repr=False)
    """Total time that those tuples wait until that start, per phase."""
    ticks: FloatArray = field(repr=False)
    """Entry (i, j): trigger intervals that begin in phase j with nothing waiting, from phase i."""
    law: CountLaw | None = field(repr=False)
    """Arrivals in one trigger interval; None without trigger."""

    @classmethod
    def of(cls, arrivals: MAP, server: BatchServer) -> Idling:
        """Without a trigger, the next arrival is the next batch; with one, it waits for the tick."""
        n = arrivals.states
        if server.trigger_s is None:
            return cls(np.ones(1), arrivals.embedded_chain[None], np.zeros(n), np.zeros((n, n)), None)
        law = CountLaws(arrivals, server.trigger_s).law(1)
        ticks: FloatArray = np.linalg.inv(np.eye(n) - law.none).astype(np.float64)
        return cls(law.tuples, ticks @ law.some, ticks @ law.area, ticks, law)


def _lagrange(points: FloatArray, nodes: FloatArray) -> FloatArray:
    """Weights (point, node) of polynomial interpolation from the nodes next to each point."""
    width = min(STENCIL, nodes.size)
    start = np.clip(np.searchsorted(nodes, points) - width // 2, 0, nodes.size - width)
    taking_part = start[:, None] + np.arange(width)
    chosen = nodes[taking_part]
    weights = np.zeros((points.size, nodes.size))
    for own in range(width):
        others = [k for k in range(width) if k != own]
        steps = (points[:, None] - chosen[:, others]) / (chosen[:, [own]] - chosen[:, others])
        weights[np.arange(points.size), taking_part[:, own]] = steps.prod(axis=1)
    return weights
