"""A micro-batch split over k tasks: what more tasks shorten, and what no number of them does.

A query serves at once what has arrived since its last micro-batch began. With k tasks a micro-batch of n tuples takes
``S = overhead + service max(1, n / k)``, the next begins after ``C = max(trigger, S)``, and meanwhile ``n = rate C``
tuples arrive. A tuple waits for half a cycle until its micro-batch begins and then until that ends: ``C / 2 + S``. In
the mean these equations have one solution,

    S(k) = max(overhead + service, overhead + u trigger, overhead / (1 - u)),    u = rate service / k

of which each branch falls with k and is convex. The time left with unlimited tasks is the *gate*: half a cycle, the
overhead, and the service of a tuple. That numbers of tuples vary about their mean is left to the queue behind the gate.
"""

from __future__ import annotations

from math import inf


def batch_wait_s(load: float, service_s: float, overhead_s: float, trigger_s: float, tasks: int) -> float:
    """Extra time of a tuple with ``tasks`` instead of any number of tasks.

    It is infinite if the tasks are too few.

    ``load`` is the rate times ``service_s``, the time of a tuple at one task. A ``trigger_s`` of 0 is none.

    >>> [round(batch_wait_s(0.5, 0.001, 0.05, 0.2, tasks), 6) for tasks in (1, 2, 1000)]  # 0.5 x 0.2 s, then half of it
    [0.099, 0.049, 0.0]
    >>> round(batch_wait_s(0.5, 0.001, 0.05, 0.0, 1), 6)  # back to back: 1.5 x (0.05 / (1 - 0.5) - 0.051)
    0.0735
    """
    utilization = load / tasks
    if utilization >= 1.0:
        return inf
    shortest_s = overhead_s + service_s
    takes_s = max(shortest_s, overhead_s + utilization * trigger_s, overhead_s / (1.0 - utilization))
    return (max(trigger_s, takes_s) - max(trigger_s, shortest_s)) / 2.0 + takes_s - shortest_s


def gate_s(rate_per_s: float, service_s: float, overhead_s: float, trigger_s: float) -> float:
    """Time of a tuple beside its service with unlimited tasks.

    It is half a cycle and the overhead.

    Without a trigger, a tuple that finds the server idle is served at once. So half a cycle counts with the probability
    that the server is busy, which is proportional to the rate at low rates and 1 at an infinite rate.

    >>> gate_s(1000.0, 0.001, 0.05, 0.2)
    0.15000000000000002
    >>> round(gate_s(1.0, 0.001, 0.05, 0.0), 4), round(gate_s(1000.0, 0.001, 0.05, 0.0), 4)
    (0.0513, 0.0755)
    >>> round(gate_s(inf, 0.0, 0.05, 0.0), 4), gate_s(inf, 0.0, 0.0, 0.0)
    (0.075, 0.0)
    """
    shortest_s = overhead_s + service_s
    at_work = 1.0 if trigger_s or rate_per_s == inf else min(1.0, rate_per_s * shortest_s)
    return max(trigger_s, shortest_s) * at_work / 2.0 + overhead_s
