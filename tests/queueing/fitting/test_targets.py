from __future__ import annotations

import numpy as np

from mead.queueing.fitting.targets import CANDIDATES, REFERENCES, QueueTargets, reference_utilizations


def test_a_straight_rise_gets_evenly_spread_references() -> None:
    utilization = np.array(CANDIDATES)
    chosen = reference_utilizations(np.tile(utilization * np.exp(utilization), (2, 1)))
    assert chosen[0] == CANDIDATES[0]
    assert chosen[-1] == CANDIDATES[-1]
    assert max(np.diff(chosen)) < 0.2


def test_references_crowd_where_the_response_jumps() -> None:
    utilization = np.array(CANDIDATES)
    cliff = utilization * np.where(utilization < 0.5, 1.0, 100.0) * np.exp(utilization)
    chosen = np.array(reference_utilizations(np.tile(cliff, (2, 1))))
    near = (chosen > 0.45) & (chosen < 0.55)
    even = np.array(reference_utilizations(np.tile(utilization * np.exp(utilization), (2, 1))))
    assert near.sum() > ((even > 0.45) & (even < 0.55)).sum()
    assert chosen.size <= REFERENCES


def test_poisson_arrivals_have_the_response_of_m_e2_1() -> None:
    """Pollaczek-Khinchine: the wait is rho (1 + 1/2) / (2 (1 - rho)) service times."""
    unit = np.random.default_rng(8).exponential(1.0, 200_000)
    targets = QueueTargets.of(unit / unit.mean(), seed=0)
    rho = targets.utilizations
    exact = rho * (1 + 0.75 * rho / (1 - rho))
    np.testing.assert_allclose(targets.mean[rho < 0.8], exact[rho < 0.8], rtol=0.03)
    np.testing.assert_allclose(targets.idc[targets.spans < 1000], 1.0, atol=0.15)
