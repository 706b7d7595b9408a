"""The simulator's memory: plain records, which Python can look into and compiled code can run on."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Records: TypeAlias = npt.NDArray[np.void]

OPERATOR = np.dtype(
    [
        # When something happens here next, inf if nothing does. It is the end of a service, or the start of a batch.
        ("next_s", np.float64),
        ("starting", np.int64),
        # What it has: CPU seconds of work done per second, the share that is charged for it, and servers.
        ("speed", np.float64),
        ("share", np.float64),
        ("servers", np.int64),
        # Its queue in the pool, oldest first. A running batch is in the queue until it is done.
        ("head", np.int64),
        ("tail", np.int64),
        ("queued", np.int64),
        ("waiting", np.int64),
        ("in_service", np.int64),
        # Totals since the beginning.
        ("arrived", np.int64),
        ("completed", np.int64),
        ("cpu_s", np.float64),
        # The measurer of DRS: of every so many tuples one is recorded, by its inter-arrival and by its service time.
        ("recorded_every", np.int64),
        ("last_arrival_s", np.float64),
        ("iats", np.int64),
        ("iat_sum_s", np.float64),
        ("iat_squares_s2", np.float64),
        ("services", np.int64),
        ("service_sum_s", np.float64),
        ("service_squares_s2", np.float64),
        # Demands in its buffer that have been used, and that are there.
        ("drawn", np.int64),
        ("draws", np.int64),
        # Micro-batches; the last two describe the one that runs or was the last to run.
        ("batched", np.int64),
        ("overhead_s", np.float64),
        ("trigger_s", np.float64),  # 0: no trigger
        ("max_tuples", np.int64),
        ("started_s", np.float64),
        ("ended_s", np.float64),
        ("busy_tasks", np.float64),  # in the mean over its working time; 1 for an operator that serves tuple by tuple
        # Where its tuples go.
        ("first_edge", np.int64),
        ("end_edge", np.int64),
        ("sink", np.int64),
        # One replica of an operator with a queue for each: its load, what a tuple adds to it, and what was seen last.
        ("load", np.float64),
        ("step", np.float64),
        ("worked_s", np.float64),
        ("seen_worked_s", np.float64),
        ("seen_completed", np.int64),
    ]
)

GROUP = np.dtype(
    [
        ("kind", np.int64),  # 0: one queue for all replicas, and nothing to choose
        ("first", np.int64),  # the record of its first replica; the others stand behind it
        ("replicas", np.int64),  # in the pool, active or not
        ("interval_s", np.float64),
        ("looked_s", np.float64),
        ("turn", np.int64),
        ("drawn", np.int64),
        ("draws", np.int64),
    ]
)
"""How an operator hands its tuples to its replicas, if each of these has a queue of its own."""

SERVICE = np.dtype(
    [
        ("end_s", np.float64),
        ("since_s", np.float64),  # start of the work, or of the part of it that has not been charged yet
        ("arrival_s", np.float64),
        ("trail", np.int64),  # and its input; see the kernel
    ]
)
"""A tuple in service, or a batch. Those of an operator stand in a row, the one that ends first last."""

WAITING = np.dtype([("demand_s", np.float64), ("arrival_s", np.float64), ("trail", np.int64), ("behind", np.int64)])
"""A waiting tuple: its demand here, its arrival at the source, the way it has come, and the tuple behind it."""

EDGE = np.dtype(
    [
        ("target", np.int64),
        ("whole", np.int64),  # copies that every tuple gives
        ("chance", np.float64),  # of one more
        ("sent", np.int64),
        ("drawn", np.int64),
        ("draws", np.int64),
    ]
)

DEPARTURE = np.dtype([("arrival_s", np.float64), ("response_s", np.float64), ("path", np.int64)])

CLOCK = np.dtype(
    [
        ("now_s", np.float64),
        ("copied", np.int64),  # children beyond the first
        ("filtered", np.int64),  # tuples without any child
        ("lost", np.int64),  # by a restart
        ("rejected", np.int64),  # by a full queue
        ("timed_out", np.int64),  # when a server was to take them
        ("queue_size", np.int64),
        ("timeout_s", np.float64),
        ("down_until_s", np.float64),  # what arrives before is lost
        ("departed", np.int64),
        ("inputs", np.int64),  # of which all is done
        ("input_sum_s", np.float64),  # their times
        ("free", np.int64),  # head of the unused part of the pool
        ("room", np.int64),  # how many unused places there are
        ("short", np.int64),  # some random numbers are nearly used up
    ]
)
"""The one record of the whole simulation."""


def pool_of(size: int) -> Records:
    """Places for waiting tuples, all unused, chained one behind the other."""
    pool = np.zeros(size, WAITING)
    pool["behind"] = np.arange(1, size + 1)
    return pool


def grown_pool(pool: Records, clock: Records) -> Records:
    """Twice the places, the new ones put in front of the unused ones."""
    size = pool.size
    larger = pool_of(2 * size)
    larger[:size] = pool
    larger["behind"][-1] = clock["free"][0]
    clock["free"] = size
    clock["room"] += size
    return larger


def grown(records: Records) -> Records:
    """The same records with as much room again behind them."""
    return np.concatenate([records, np.zeros(records.size, records.dtype)])
