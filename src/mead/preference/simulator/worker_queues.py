"""The pane stage tuple by tuple, compiled: emitter and worker queues.

A worker reads its messages in order. The cost of a message is known when it is sent, because the place of a tuple in
its partition is. So the end of every service is known at once, and a queue is the list of ends that lie ahead. No
worker is simulated, and a stream of millions of tuples takes seconds.
"""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np
from numba import njit

from mead.preference.simulator.interference import finish
from mead.preference.windows.owner_table import needs_choice, place

WORKER = np.dtype(
    [
        ("free_s", np.float64),
        ("busy_s", np.float64),
        ("done", np.int64),
        ("received", np.int64),
        ("head", np.int64),
        ("tail", np.int64),
    ]
)
"""Busy and done count finished messages; received counts tuples and punctuations that the emitter sent."""

SERVICE = np.dtype([("end_s", np.float64), ("work_s", np.float64), ("behind", np.int64)])
"""A message in a queue, or a free slot."""

FINISHED, CLOSE, SHORT = 0, 1, 2
"""Why `send_tuples` stops: all sent; a punctuation closes panes; no room for messages."""


@njit(cache=True)
def drain(worker, length, pool, free, now_s):  # pragma: no cover - compiled
    """Remove the messages that are done by now; return the number left."""
    while length > 0 and pool[worker.head].end_s <= now_s:
        slot = worker.head
        worker.busy_s += pool[slot].work_s
        worker.done += 1
        worker.head = pool[slot].behind
        pool[slot].behind = free[0]
        free[0] = slot
        free[1] += 1
        length -= 1
    return length


@njit(cache=True)
def send(worker, length, pool, free, now_s, work_s, times_s, speeds):  # pragma: no cover - compiled
    """Append a message to a queue; return the time at which the worker has done it."""
    start_s = max(now_s, worker.free_s)
    end_s = finish(start_s, work_s, times_s, speeds)
    slot = free[0]
    free[0] = pool[slot].behind
    free[1] -= 1
    pool[slot].end_s, pool[slot].work_s = end_s, end_s - start_s
    if length > 0:
        pool[worker.tail].behind = slot
    else:
        worker.head = slot
    worker.tail = slot
    worker.free_s = end_s
    return end_s


@njit(cache=True)
def send_to_all(chosen, workers, queues, pool, free, now_s, message_s, times_s, speeds):  # pragma: no cover - compiled
    """Send the same message to several workers."""
    for w in range(chosen.size):
        if chosen[w]:
            queues[w] = drain(workers[w], queues[w], pool, free, now_s)
            send(workers[w], queues[w], pool, free, now_s, message_s, times_s, speeds)
            queues[w] += 1


@njit(cache=True)
def drain_all(chosen, workers, queues, pool, free, now_s):  # pragma: no cover - compiled
    """Bring the lengths of the queues up to date."""
    for w in range(chosen.size):
        if chosen[w]:
            queues[w] = drain(workers[w], queues[w], pool, free, now_s)


@njit(cache=True)
def send_tuples(  # pragma: no cover - compiled
    first, end, told, arrivals_s, numbers, late, punctuation, next_pane, splitting, threshold, panes, sizes, holds,
    active, cursor, workers, queues, pool, free, insert_s, message_s, times_s, speeds,
):  # fmt: skip
    """Send the tuples from ``first`` to ``end``; return the tuple at which it stopped, and why.

    ``told`` is the tuple whose punctuation has been handled.
    """
    for i in range(first, end):
        now_s = arrivals_s[i]
        if free[1] < 2 * active.size + 2:
            return i, SHORT
        if i != told and punctuation[i] > next_pane:
            return i, CLOSE
        if i != told and punctuation[i] == next_pane:
            send_to_all(active, workers, queues, pool, free, now_s, message_s, times_s, speeds)
            for w in range(active.size):
                workers[w].received += active[w]
        if late[i]:
            continue
        row = numbers[i] % panes.size
        if needs_choice(splitting, panes[row], threshold):
            drain_all(active, workers, queues, pool, free, now_s)
        count = panes[row].count
        w = place(splitting, panes[row], sizes[row], holds[row], active, queues, cursor, threshold)
        if panes[row].count > count > 0:  # earlier holders learn the new count
            holds[row, w] = False
            send_to_all(holds[row], workers, queues, pool, free, now_s, message_s, times_s, speeds)
            holds[row, w] = True
        queues[w] = drain(workers[w], queues[w], pool, free, now_s)
        send(workers[w], queues[w], pool, free, now_s, insert_s[sizes[row, w]], times_s, speeds)
        workers[w].received += 1
        queues[w] += 1
    return end, FINISHED
