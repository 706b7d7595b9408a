"""Dynamic programming over the backlog of one operator whose whole future is known: the compiled part.

The state is the backlog ``v`` in CPU seconds at the start of an interval. What follows from it until the end of the
interval at a given share is exact, tuple by tuple, and needs no step in time: first come, first served, the work done
by time t is ``w(t) = arrived work - v(t)``, and the tuples that have left are those whose cumulated work is at most
``w(t)``. With ``X(t)`` the work that has arrived in the interval less ``share * t``, a backlog of ``v`` becomes
``max(v + X(t), M(t))``, where ``M`` is what an empty start leads to. So one sweep does all states of an interval.
"""

# ruff: noqa: FURB136, PLR1730 - min and max take longer to compile than a comparison
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from mead.arrays import FloatArray, IntArray

inner = njit(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)  # type: ignore[call-overload]  # not in its stubs

ROUNDING_S = 1e-9
"""A tuple that leaves at its deadline, up to rounding, is not late."""


class Future(NamedTuple):
    """Everything that is going to happen at the operator, and the intervals in which its share can be chosen."""

    bounds_s: FloatArray
    """Where intervals begin, and where the last one ends: when all has been served."""
    paid_s: FloatArray
    """The time in every interval that has to be paid for."""
    firsts: IntArray
    """The first tuple that arrives in each interval."""
    firsts_due: IntArray
    """The first tuple whose deadline lies in each interval."""
    times_s: FloatArray
    """When every tuple reaches the operator."""
    times_sum: FloatArray
    """The sum of ``times_s`` of all tuples before the i-th."""
    work_s: FloatArray
    """The work of all tuples before the i-th."""
    work_sum: FloatArray
    """The sum of all entries of ``work_s`` before the i-th."""
    deadline_s: FloatArray
    """When every tuple must have left; empty if the requirement is about the time that tuples spend."""


class Room(NamedTuple):
    """Places that the walk through an interval fills."""

    low: FloatArray
    low_at: IntArray
    tail_s: FloatArray


@inner
def room_for(future):  # pragma: no cover - compiled
    """Enough for the interval with most arrivals."""
    most = 1 + np.max(np.diff(future.firsts))
    return Room(np.empty(most), np.empty(most, np.int64), np.empty(most))


@inner
def step(future, k, share, states, room, penalty):  # pragma: no cover - compiled
    """Fill ``penalty`` for every state of interval k; return ``X`` and ``M`` at its end."""
    lowest, lows, left_s = 0.0, 0, future.bounds_s[k]
    first, end, start_s = future.firsts[k], future.firsts[k + 1], future.bounds_s[k]
    end_s = future.bounds_s[k + 1]
    for i in range(first, end):
        time_s, base = future.times_s[i], future.work_s[i] - future.work_s[first]
        x = base - share * (time_s - start_s)
        if x < lowest:
            lowest = x
            room.low[lows], room.low_at[lows] = -x, i
            lows += 1
        begin_s = time_s if time_s > left_s else left_s
        left_s = begin_s + (future.work_s[i + 1] - future.work_s[i]) / share
        room.tail_s[i - first] = (left_s if left_s < end_s else end_s) - time_s
    if future.deadline_s.size > 0:
        late_tuples(future, k, share, states, penalty)
    else:
        room.tail_s[end - first] = 0.0
        for i in range(end - 1, first - 1, -1):
            room.tail_s[i - first] += room.tail_s[i + 1 - first]
        time_inside(future, k, share, states, room, lows, penalty)
    x = future.work_s[end] - future.work_s[first] - share * (end_s - start_s)
    return x, x - (lowest if lowest < x else x)


@inner
def back_to(work_s, place, limit_s):  # pragma: no cover - compiled
    """The last place up to ``place`` before which there is no more work than the limit, or 0; by leaps and bounds."""
    leap = 1
    while place > 0 and work_s[place] > limit_s:
        if leap <= place and work_s[place - leap] > limit_s:
            place -= leap
            leap *= 2
        elif leap > 1:
            leap //= 2
        else:
            place -= 1
    return place


@inner
def time_inside(future, k, share, states, room, lows, penalty):  # pragma: no cover - compiled
    """For every state: the time that all tuples together spend in the operator during the interval.

    ``room`` holds every new low of X, negated, with the tuple that arrives then: a smaller backlog has been worked
    off by that time, and from there on the interval is that of an empty start, whose times are the tails.
    """
    times_sum, work_s, work_sum = future.times_sum, future.work_s, future.work_sum
    first, end = future.firsts[k], future.firsts[k + 1]
    start_s, length_s = future.bounds_s[k], future.bounds_s[k + 1] - future.bounds_s[k]
    undone, done, merge = first, end, 0  # tuples before these have left at the start, and by the end
    for place in range(states.size):
        before = work_s[first] - states[place]
        undone = back_to(work_s, undone, before)
        while merge < lows and room.low[merge] < states[place]:
            merge += 1
        if merge < lows:
            leaving = room.low_at[merge]
            total = room.tail_s[leaving - first]
        else:
            done = back_to(work_s, done, before + share * length_s)
            done = undone if done < undone else done
            leaving = done
            later = done if done > first else first
            total = (end - done) * length_s - (times_sum[end] - times_sum[later] - (end - later) * start_s)
        total += (work_sum[leaving + 1] - work_sum[undone + 1] - (leaving - undone) * before) / share
        if leaving > first:
            total -= times_sum[leaving] - times_sum[first] - (leaving - first) * start_s
        penalty[place] = total


@inner
def late_tuples(future, k, share, states, penalty):  # pragma: no cover - compiled
    """For every state: how many tuples whose deadline lies in the interval have not left by then."""
    times_s, work_s = future.times_s, future.work_s
    first, end, start_s = future.firsts[k], future.firsts[k + 1], future.bounds_s[k]
    penalty[:] = 0.0
    late, arrived, lowest = 0.0, first, 0.0
    for due in range(future.firsts_due[k], future.firsts_due[k + 1]):
        deadline_s = future.deadline_s[due]
        while arrived < end and times_s[arrived] <= deadline_s:
            x = work_s[arrived] - work_s[first] - share * (times_s[arrived] - start_s)
            lowest = x if x < lowest else lowest
            arrived += 1
        x = work_s[arrived] - work_s[first] - share * (deadline_s - start_s)
        allowed = work_s[arrived] - work_s[due + 1] + ROUNDING_S  # a larger backlog at the deadline holds this tuple
        if x - (lowest if lowest < x else x) > allowed:
            late += 1.0
        else:
            place = np.searchsorted(states, allowed - x, side="right")
            if place < states.size:
                penalty[place] += 1.0
    for place in range(states.size):
        late += penalty[place]
        penalty[place] = late


@njit(cache=True, error_model="numpy")
def cost_to_go(future, shares, price, states, interpolate):  # pragma: no cover - compiled
    """``J[k, g]``: least CPU seconds plus price times penalty from interval k on, with ``states[g]`` as backlog.

    Between two states, J is interpolated (a good estimate) or that of the lower one (never too much).
    """
    intervals = future.paid_s.size
    least = np.zeros((intervals + 1, states.size))
    penalty, room = np.empty(states.size), room_for(future)
    for k in range(intervals - 1, -1, -1):
        best, ahead = least[k], least[k + 1]
        best[:] = np.inf
        for share in shares:
            x, from_empty = step(future, k, share, states, room, penalty)
            here = 0
            for place in range(states.size):
                v = states[place] + x
                if v < from_empty:
                    v = from_empty
                while here + 1 < states.size and states[here + 1] <= v:
                    here += 1
                follow = ahead[here]
                if interpolate and here + 1 < states.size:
                    follow += (v - states[here]) / (states[here + 1] - states[here]) * (ahead[here + 1] - follow)
                cost = share * future.paid_s[k] + price * penalty[place] + follow
                if cost < best[place]:
                    best[place] = cost
    return least


@njit(cache=True, error_model="numpy")
def best_levels(future, shares, prices, states, least):  # pragma: no cover - compiled
    """Forward from an empty start, with the exact backlog: the level of every interval, and the penalty of all.

    Every interval has a price, with which the cost to go from its end was found.
    """
    levels = np.zeros(future.paid_s.size, np.int64)
    here, penalty, room = np.zeros(1), np.empty(1), room_for(future)
    total = 0.0
    for k in range(levels.size):
        cheapest, added, reached = np.inf, 0.0, 0.0
        for level in range(shares.size):
            x, from_empty = step(future, k, shares[level], here, room, penalty)
            v = max(here[0] + x, from_empty)
            cost = shares[level] * future.paid_s[k] + prices[k] * penalty[0] + np.interp(v, states, least[k + 1])
            if cost < cheapest:
                cheapest, added, reached = cost, penalty[0], v
                levels[k] = level
        total += added
        here[0] = reached
    return levels, total
