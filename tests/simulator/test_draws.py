from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

from mead.queueing import PH, Edge
from mead.simulator import Simulation, demands_s
from mead.simulator.draws import LAST_BLOCK, Buffers, coin_blocks, demand_blocks
from mead.simulator.records import OPERATOR
from mead.values import Operator, Pipeline
from mead.workload import Trace


@pytest.mark.parametrize("scv", [0.005, 0.2, 0.3, 0.5, 0.7, 1.0, 2.0, 9.0])
def test_demands_have_the_distribution_of_the_model(scv: float) -> None:
    drawn = demands_s(Pipeline("one", [Operator("a", 0.02, scv)]), "a", 400_000, seed=3)
    service = PH.with_moments(0.02, scv)
    assert drawn.mean() == pytest.approx(service.mean_s, rel=0.01 * max(1.0, scv**0.5))
    assert drawn.var() / drawn.mean() ** 2 == pytest.approx(service.scv, rel=0.05)
    for t_s in (0.005, 0.01, 0.02, 0.04, 0.1):
        late = service.survival(t_s)
        assert (drawn > t_s).mean() == pytest.approx(late, abs=4 * (late * (1 - late) / drawn.size) ** 0.5 + 1e-6)


def test_a_demand_depends_on_seed_operator_and_number_only() -> None:
    alone = demands_s(Pipeline("one", [Operator("a", 0.02)]), "a", 5_000, seed=3)
    others = Pipeline("two", [Operator("b", 0.1), Operator("a", 0.02)], [Edge("b", "a", 0.5)])
    assert np.array_equal(alone, demands_s(others, "a", 5_000, seed=3))
    assert np.array_equal(alone[:10], demands_s(others, "a", 10, seed=3))
    assert not np.array_equal(alone, demands_s(others, "a", 5_000, seed=4))
    assert not np.array_equal(alone / 0.02, demands_s(others, "b", 5_000, seed=3) / 0.1)


def test_a_simulation_meets_the_demands_that_were_drawn() -> None:
    pipeline = Pipeline("one", [Operator("a", 0.02)])
    far_apart = Trace.from_timestamps_s(np.arange(40_000) * 10.0)
    simulation = Simulation(pipeline, far_apart, seed=11)
    simulation.drain()
    drawn = demands_s(pipeline, "a", 40_000, seed=11)
    np.testing.assert_allclose(simulation.responses("a").response_s, drawn, rtol=0, atol=1e-9)


def test_coins_are_uniform_and_belong_to_the_edge() -> None:
    coins = np.concatenate(list(islice(coin_blocks("a", "b", 1), 8)))
    assert np.histogram(coins, bins=10, range=(0, 1))[0] / coins.size == pytest.approx(np.full(10, 0.1), abs=0.01)
    assert not np.array_equal(coins[:256], next(coin_blocks("a", "c", 1)))
    assert not np.array_equal(coins[:256], next(coin_blocks("b", "a", 1)))


def test_refilling_skips_nothing_and_repeats_nothing() -> None:
    operator = Operator("a", 0.02)
    records = np.zeros(1, OPERATOR)
    buffers = Buffers(records, [demand_blocks(operator, 5)], least=7)
    taken: list[float] = []
    for step in np.random.default_rng(1).integers(1, 3_000, 60):
        for _ in range(step):
            taken.append(buffers.values[0, records["drawn"][0]])
            records["drawn"] += 1
            if records["drawn"][0] + 7 > records["draws"][0]:
                buffers.refill()
    assert len(taken) > 3 * LAST_BLOCK
    assert taken == demands_s(Pipeline("one", [operator]), "a", len(taken), seed=5).tolist()
