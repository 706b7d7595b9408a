"""Queue lengths of MAP/PH/1, grouped by depth.

Departures remember this part of the state of a queue.

The queue length with the phases of arrivals and service is a quasi-birth-death process (Neuts 1981, chapter 3). Its
levels are grouped into a few depths. A queue belongs to the depth whose gate it passed last: it enters a deeper one on
reaching ``rise_to``, and leaves it again on falling to ``fall_to``, which is lower. Without that gap a queue that has
just passed a gate would go back at once as often as one far inside, and long busy periods would be forgotten.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mead.arrays import FloatArray
from mead.queueing.map import MAP
from mead.queueing.markov import stationary
from mead.queueing.ph import PH

GATES = ((2, 3), (6, 10), (29, 45), (142, 270), (976, 2000))
"""``(fall_to, rise_to)`` of each depth below the first; their distances are powers of two. Against simulation, gaps
of about half a depth reproduce how long a queue stays deep best, under Poisson and under bursty arrivals alike."""

NEGLIGIBLE = 1e-7
"""A depth that is reached less often than this changes no response time that anyone could measure."""

MAX_DOUBLINGS = 60
SETTLED = 1e-14
"""Passages less likely than this are lost in rounding."""


@dataclass(frozen=True, eq=False)
class Levels:
    """Stationary queue lengths of a MAP/PH/1 queue.

    ``empty`` runs over the arrival phases, ``first @ rise^k`` over both phases.

    ``rise`` is the rate matrix of Neuts; ``fall`` is the same towards shorter queues.
    """

    empty: FloatArray
    first: FloatArray
    rise: FloatArray
    fall: FloatArray


@dataclass(frozen=True, eq=False)
class Depth:
    """Stationary mass at one depth, per pair of phases.

    It also holds the parts that are one step from the next gate up or down.
    """

    mass: FloatArray
    rising: FloatArray
    falling: FloatArray


def levels_of(arrivals: MAP, service: PH) -> Levels:
    """The queue lengths of a stable MAP/PH/1 queue.

    >>> mm1 = levels_of(MAP.poisson(0.5), PH.exponential(1.0))
    >>> mm1.empty.round(12).tolist(), mm1.first.round(12).tolist(), mm1.rise.round(12).tolist()
    ([0.5], [0.25], [[0.5]])
    """
    n, m = arrivals.states, service.phases
    each_phase, each_service = np.eye(n), np.eye(m)
    up = kronecker(arrivals.D1, each_service)
    local = kronecker(arrivals.D0, each_service) + kronecker(each_phase, service.T)
    down = kronecker(each_phase, np.outer(service.exit_rates, service.alpha))
    to_lower, to_higher = _passages(up, local, down)
    inside = np.linalg.inv(-(local + up @ to_lower))
    rise = up @ inside
    fall = down @ np.linalg.inv(-(local + down @ to_higher))
    # The empty queue has no service phase: from it to one tuple by D1 x alpha, and back by a departure.
    start = kronecker(arrivals.D1, service.alpha[None, :]) @ inside
    empty = stationary(arrivals.D0 + start @ kronecker(each_phase, service.exit_rates[:, None]))
    first = empty @ start
    total = empty.sum() + first @ np.linalg.solve(np.eye(n * m) - rise, np.ones(n * m))
    return Levels(empty / total, first / total, rise, fall)


def kronecker(a: FloatArray, b: FloatArray) -> FloatArray:
    """``np.kron`` of two matrices, without its cost for small ones."""
    return (a[:, None, :, None] * b[None, :, None, :]).reshape(a.shape[0] * b.shape[0], a.shape[1] * b.shape[1])


def _passages(up: FloatArray, local: FloatArray, down: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The phases met on first reaching the next lower and the next higher level.

    Logarithmic reduction (Latouche and Ramaswami 1993). One run gives both directions: after k steps ``moves`` holds
    the first passages by 2^k levels, up and down side by side, and ``ahead`` those by 2^(k+1) - 1 levels.
    """
    size = local.shape[0]
    identity = np.eye(size)
    moves = np.linalg.solve(-local, np.concatenate([up, down], axis=1))
    ahead = np.concatenate([moves[:, :size], moves[:, size:]])
    to_lower, to_higher = moves[:, size:], moves[:, :size]
    for _ in range(MAX_DOUBLINGS):
        pairs = np.concatenate([moves[:, :size], moves[:, size:]]) @ moves
        twice = np.concatenate([pairs[:size, :size], pairs[size:, size:]], axis=1)
        moves = np.linalg.solve(identity - pairs[:size, size:] - pairs[size:, :size], twice)
        further = ahead @ moves
        to_lower = to_lower + further[:size, size:]
        to_higher = to_higher + further[size:, :size]
        if max(further[:size, size:].max(), further[size:, :size].max()) < SETTLED:
            break
        ahead = np.concatenate([further[:size, :size], further[size:, size:]])
    return to_lower, to_higher


def depths_of(levels: Levels) -> list[Depth]:
    """The depths that the queue reaches, from the shallowest.

    Every level from 1 belongs to one depth or shares two.

    Between ``fall_to`` and ``rise_to`` a queue may have come from either side. The part that came from below solves
    the balance equations with all of the mass at ``fall_to`` and none at ``rise_to``: a combination of powers of
    ``rise`` and ``fall``.
    """
    identity = np.eye(levels.first.size)
    beyond = np.linalg.inv(identity - levels.rise)
    rises, falls = [levels.rise], [levels.fall]
    depths: list[Depth] = []
    at, level = levels.first, 1
    shared, falling = np.zeros_like(at), at
    for fall_to, rise_to in GATES:
        bottom = _stepped(at, rises, fall_to - level)
        top = _stepped(bottom, rises, rise_to - fall_to)
        if (top @ beyond).sum() < NEGLIGIBLE:
            break
        doublings = (rise_to - fall_to).bit_length() - 1
        _extend(rises, doublings)
        _extend(falls, doublings)
        upward = np.asarray(np.linalg.solve((identity - rises[doublings] @ falls[doublings]).T, bottom))
        downward = upward @ rises[doublings]
        # All levels strictly between the gates, and the two next to them.
        from_below = _summed(upward, rises, doublings) - _summed(downward, falls, doublings) - upward + downward
        together = _summed(bottom, rises, doublings) - bottom
        before_top = _stepped(upward, rises, rise_to - fall_to - 1) - downward @ levels.fall
        above_bottom = upward @ levels.rise - _stepped(downward, falls, rise_to - fall_to - 1)
        only_here = (at - bottom @ levels.rise) @ beyond
        depths.append(Depth(shared + only_here + from_below, before_top, falling))
        shared, falling = together - from_below, bottom @ levels.rise - above_bottom
        at, level = top, rise_to
    depths.append(Depth(shared + at @ beyond, np.zeros_like(at), falling))
    return depths


def _extend(powers: list[FloatArray], doublings: int) -> None:
    """Make ``powers[k]`` the 2^k-th power, up to ``doublings``."""
    while len(powers) <= doublings:
        powers.append(powers[-1] @ powers[-1])


def _stepped(vector: FloatArray, powers: list[FloatArray], count: int) -> FloatArray:
    """``vector @ matrix^count``."""
    _extend(powers, count.bit_length() - 1)
    for bit in range(count.bit_length()):
        if count >> bit & 1:
            vector = vector @ powers[bit]
    return vector


def _summed(vector: FloatArray, powers: list[FloatArray], doublings: int) -> FloatArray:
    """``vector @ (1 + matrix + ... )`` with 2^doublings terms."""
    for power in powers[:doublings]:
        vector = vector + vector @ power
    return vector
