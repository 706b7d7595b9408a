"""The closed form of a micro-batch on k tasks, against the exact solution for one and the simulator for several."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mead.queueing import MAP, BatchServer, Unstable, batch_wait_s, gate_s, micro_batch
from mead.simulator import Simulation
from mead.values import Allocation, Batches, Operator, Pipeline, Resources
from mead.workload import Poisson

SERVICES_S, OVERHEADS_S, TRIGGERS_S = st.floats(1e-4, 0.1), st.floats(0.0, 1.0), st.just(0.0) | st.floats(0.01, 2.0)


def response_s(rate_per_s: float, service_s: float, overhead_s: float, trigger_s: float, tasks: int) -> float:
    """Gate, service, and what tasks shorten: half a cycle and a micro-batch."""
    wait_s = batch_wait_s(rate_per_s * service_s, service_s, overhead_s, trigger_s, tasks)
    return gate_s(rate_per_s, service_s, overhead_s, trigger_s) + service_s + wait_s


@pytest.mark.parametrize("trigger_s", [None, 0.2, 0.5])
@pytest.mark.parametrize("rate_per_s", [200.0, 500.0, 800.0])
def test_one_task_takes_as_long_as_the_exact_solution_says(rate_per_s: float, trigger_s: float | None) -> None:
    exact = micro_batch(MAP.poisson(rate_per_s), BatchServer(0.06, 0.001, trigger_s=trigger_s))
    assert not isinstance(exact, Unstable)
    assert response_s(rate_per_s, 0.001, 0.06, trigger_s or 0.0, 1) == pytest.approx(exact.mean_s, rel=0.05)


@pytest.mark.parametrize("tasks", [1, 2, 4])
@pytest.mark.parametrize("trigger_s", [None, 0.2])
def test_several_tasks_take_as_long_as_in_the_simulator(tasks: int, trigger_s: float | None) -> None:
    rate_per_s, share = 450.0, 0.8
    pipeline = Pipeline("one", [Operator("one", 0.0015, max_replicas=4, batches=Batches(0.06, trigger_s))])
    trace = Poisson(rate_per_s=rate_per_s, duration_s=120.0).generate(np.random.default_rng(1))
    held = Allocation.of(one=Resources(share, tasks))
    simulation = Simulation(pipeline, trace, 1, allocation=held)
    simulation.drain()
    simulated_s = simulation.responses("one").response_s.mean()
    assert response_s(rate_per_s, 0.0015 / share, 0.06, trigger_s or 0.0, tasks) == pytest.approx(simulated_s, rel=0.08)


@given(st.floats(0.0, 5.0), SERVICES_S, OVERHEADS_S, TRIGGERS_S)
def test_the_wait_falls_and_ever_less(load: float, service_s: float, overhead_s: float, trigger_s: float) -> None:
    """What makes it right to hand out processors one by one."""
    first = int(load) + 1
    waits_s = [batch_wait_s(load, service_s, overhead_s, trigger_s, k) for k in range(first, first + 40)]
    gains_s = -np.diff(waits_s)
    assert min(waits_s) >= 0
    assert np.all(gains_s >= -1e-9)
    assert np.all(np.diff(gains_s) <= 1e-9 * (1 + gains_s[:-1]))


@given(st.floats(0.1, 5.0), SERVICES_S, OVERHEADS_S, TRIGGERS_S, st.integers(1, 20))
def test_a_micro_batch_lasts_as_long_as_it_takes_to_serve_what_came_in_a_cycle(
    load: float, service_s: float, overhead_s: float, trigger_s: float, tasks: int
) -> None:
    """The equations themselves, iterated from a micro-batch of one tuple."""
    if tasks <= 1.05 * load:
        return
    takes_s = overhead_s + service_s
    for _ in range(2000):
        tuples = load / service_s * max(trigger_s, takes_s)
        takes_s = overhead_s + service_s * max(1.0, tuples / tasks)
    alone_s = overhead_s + service_s
    expected = (max(trigger_s, takes_s) - max(trigger_s, alone_s)) / 2 + takes_s - alone_s
    assert batch_wait_s(load, service_s, overhead_s, trigger_s, tasks) == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_too_few_tasks_never_keep_up() -> None:
    assert batch_wait_s(2.0, 0.001, 0.05, 0.2, 2) == inf
    assert batch_wait_s(2.0, 0.001, 0.05, 0.2, 3) < inf
