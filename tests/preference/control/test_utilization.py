from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mead.preference.control.utilization import Load

counts = st.lists(st.integers(1, 1000), min_size=1, max_size=8)


def loaded(received: list[float], *, service_s: float = 0.001) -> Load:
    """Workers that serve all that they receive, or are busy all the time."""
    arrived = np.array(received, dtype=float)
    done = np.minimum(arrived, 1.0 / service_s)
    return Load.of(1.0, arrived, done, done * service_s, np.ones(arrived.size, dtype=np.bool_))


@given(counts)
def test_the_factor_is_least_for_an_even_load(received: list[int]) -> None:
    # Proposition 1 of the paper: rho >= lambda / (mu n).
    load = loaded([float(n) for n in received])
    bound = sum(received) / (1000 * len(received))
    assert load.pane_utilization >= bound * (1 - 1e-9)
    even = loaded([sum(received) / len(received)] * len(received))
    assert even.pane_utilization == pytest.approx(bound)


def test_one_of_two_workers_that_gets_everything_counts_alone() -> None:
    assert loaded([900.0, 0.0]).pane_utilization == pytest.approx(0.9)


def test_workers_switched_off_only_tell_the_service_time() -> None:
    load = Load.of(1.0, np.array([4.0, 9.0]), np.array([4.0, 9.0]), np.array([0.4, 0.9]), np.array([True, False]))
    assert load.pane_utilization == pytest.approx(0.4)


def test_nothing_done_is_no_load() -> None:
    nothing = np.zeros(3)
    load = Load.of(1.0, nothing, nothing, nothing, np.ones(3, dtype=np.bool_))
    assert (load.pane_utilization, load.window_utilization(7), load.idle_ratio) == (0.0, 0.0, 1.0)
    stuck = Load.of(1.0, np.ones(3), nothing, nothing, np.ones(3, dtype=np.bool_))
    assert stuck.pane_utilization == 0.0


def test_waiting_results_raise_the_factor_of_the_window_stage() -> None:
    load = Load.of(2.5, np.full(4, 10.0), np.full(4, 10.0), np.full(4, 2.0), np.ones(4, dtype=np.bool_))
    assert load.window_utilization(0) == pytest.approx(0.8)
    assert load.window_utilization(10) == pytest.approx(1.0)
    assert load.idle_ratio == pytest.approx(0.2)
