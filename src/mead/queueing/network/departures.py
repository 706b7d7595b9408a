"""The departures of an operator as a MAP: what the next operator sees.

A busy operator paces its output: whatever the arrivals do, departures follow its service times until the queue is
empty. The MAP made here keeps that. Its states are the idle server and, for every depth of the queue, the service
phase; the phases of the arrivals are grouped in two. Rates between states are stationary flows of the exact queue, in
the manner of Heindl and Telek (2002) and of Zhang, Heindl and Smirni (2005), who cut the queue length off instead.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mead.arrays import FloatArray, IntArray
from mead.queueing.map import MAP
from mead.queueing.network.levels import depths_of, kronecker, levels_of
from mead.queueing.ph import PH

HORIZON_IATS = 10.0
"""Arrival phases are told apart by the arrivals to expect within about this many mean inter-arrival times."""

VANISHING = 1e-14
"""A state with less mass than this is never entered but for rounding."""


@dataclass(frozen=True, eq=False)
class Departures:
    """A stream of departures: a MAP, and for each of its states how deep the queue is, 0 if it is empty.

    The matrices come from flows between states that are met. So there is nothing left to check, as ``MAP`` would do.
    """

    D0: FloatArray
    D1: FloatArray
    depth: IntArray

    @classmethod
    def memoryless(cls, stream: MAP) -> Departures:
        """Departures that tell nothing about the queue they leave."""
        return cls(stream.D0, stream.D1, np.zeros(stream.states, dtype=np.int64))

    @classmethod
    def saturated(cls, service: PH) -> Departures:
        """The departures of a server that never idles: one service time after the other."""
        renewal = np.outer(service.exit_rates, service.alpha)
        return cls(service.T, renewal, np.zeros(service.phases, dtype=np.int64))

    def thinned(self, keep: float) -> Departures:
        """Every departure is kept with probability ``keep``."""
        return self if keep == 1 else Departures(self.D0 + (1 - keep) * self.D1, keep * self.D1, self.depth)

    def scaled(self, factor: float) -> Departures:
        """The same stream with every rate multiplied."""
        return Departures(self.D0 * factor, self.D1 * factor, self.depth)


def phase_groups(arrivals: MAP) -> IntArray:
    """Split the phases into few and many arrivals ahead.

    Returns 0 or 1 for each phase: the split that explains most of the variance.

    It depends on the arrivals alone. So a change of service moves no phase from one group to the other, and response
    times stay continuous in the service times.

    >>> phase_groups(MAP.two_state(1.0, idc=50.0)).tolist()
    [1, 0]
    """
    generator = arrivals.D0 + arrivals.D1
    discount = arrivals.rate_per_s / HORIZON_IATS
    ahead = np.linalg.solve(discount * np.eye(arrivals.states) - generator, arrivals.D1.sum(axis=1))
    order = np.argsort(ahead, kind="stable")
    weight = arrivals.time_stationary[order]
    below = np.cumsum(weight)[:-1]
    sums = np.cumsum(weight * ahead[order])
    # Variance between two groups, up to a constant: (difference of the means)^2 times both weights.
    both = below * (1 - below)
    between = np.divide((sums[:-1] - below * sums[-1]) ** 2, both, where=both > VANISHING, out=np.zeros_like(both))
    groups = np.zeros(arrivals.states, dtype=np.int64)
    if between.size:
        groups[order[int(between.argmax()) + 1 :]] = 1
    return groups


def departures(arrivals: MAP, service: PH, groups: IntArray) -> Departures:
    """The departures of a stable MAP/PH/1 queue.

    >>> bursty = MAP.two_state(0.5, idc=50.0)
    >>> left = departures(bursty, PH.erlang(2, 1.0), phase_groups(bursty))
    >>> paced = MAP(left.D0, left.D1)
    >>> round(paced.rate_per_s, 9), round(bursty.scv, 2), round(paced.scv, 2)
    (0.5, 5.5, 3.86)
    """
    levels = levels_of(arrivals, service)
    depths = depths_of(levels)
    member = np.eye(int(groups.max()) + 1)[groups]
    count, m = member.shape[1], service.phases
    size, deepest = count * m, len(depths)
    shape = (deepest, arrivals.states, m)
    masses, rising, falling = (
        np.stack(parts).reshape(shape)
        for parts in zip(*((depth.mass, depth.rising, depth.falling) for depth in depths), strict=True)
    )
    mass = np.concatenate([member.T @ levels.empty, (member.T @ masses).ravel()])
    leaving_it = (member.T @ falling).reshape(deepest, size, 1)
    staying = mass[count:].reshape(deepest, size, 1) - leaving_it
    hidden, arriving = arrivals.D0 @ member, arrivals.D1 @ member
    moved = _moved(masses, hidden, member) + _moved(masses - rising, arriving, member)
    deeper = _moved(rising, arriving, member)
    each_group = np.eye(count)
    finish = kronecker(each_group, np.outer(service.exit_rates, service.alpha))
    served = mass[count:].reshape(deepest, size, 1) * kronecker(each_group, service.T)
    # First the flows from state to state, each in tuples per second; divided by the mass of a state they are its rates.
    states = count + size * deepest
    quiet, leaving = np.zeros((states, states)), np.zeros((states, states))
    idle, first = slice(0, count), slice(count, count + size)
    quiet[idle, idle] = member.T @ (levels.empty[:, None] * hidden)
    quiet[idle, first] = kronecker(member.T @ (levels.empty[:, None] * arriving), service.alpha[None, :])
    leaving[first, idle] = leaving_it[0] * kronecker(each_group, service.exit_rates[:, None])
    for index in range(deepest):
        here = slice(count + index * size, count + (index + 1) * size)
        quiet[here, here] = served[index] + moved[index]
        leaving[here, here] = staying[index] * finish
        if index:
            above = slice(here.start - size, here.start)
            quiet[above, here] = deeper[index - 1]
            leaving[here, above] = leaving_it[index] * finish
    met = mass > VANISHING
    D0, D1 = (np.maximum(flow[np.ix_(met, met)], 0.0) for flow in (quiet, leaving))
    np.fill_diagonal(D0, 0.0)
    np.fill_diagonal(D0, -(D0 + D1).sum(axis=1))
    depth_of_state = np.repeat(np.arange(deepest + 1), [count] + [size] * deepest)
    return Departures(D0 / mass[met, None], D1 / mass[met, None], depth_of_state[met])


def _moved(masses: FloatArray, rates: FloatArray, member: FloatArray) -> FloatArray:
    """Flows by transitions of the arrival phase, one matrix per depth.

    The service phase stays as it is.
    """
    depths, _, m = masses.shape
    count = member.shape[1]
    flows = np.einsum("ik,dij,il->dkjl", member, masses, rates)
    return np.asarray((flows[..., None] * np.eye(m)[:, None, :]).reshape(depths, count * m, count * m))
