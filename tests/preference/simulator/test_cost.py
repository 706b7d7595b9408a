from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mead.preference.kernels.block_nested_loop import nested_loop_skyline
from mead.preference.simulator.cost import CostModel
from mead.preference.simulator.interference import Interference


def test_inserting_costs_what_the_nested_loop_compares() -> None:
    # The mean number of comparisons over samples of real tuples, which know nothing of the formula.
    rng = np.random.default_rng(1)
    compared = np.mean([nested_loop_skyline(rng.random((2000, 8))).comparisons for _ in range(20)])
    model = CostModel(comparison_s=1.0, message_s=0.0)
    assert model.insert_s(2000)[1:2001].sum() == pytest.approx(compared, rel=0.03)


def test_merging_costs_what_comparing_with_survivors_does() -> None:
    rng = np.random.default_rng(2)
    compared = []
    for _ in range(10):
        one, other = (rng.random((1500, 8)) for _ in range(2))
        left = one[nested_loop_skyline(one).rows]
        total = 0
        for row in other[nested_loop_skyline(other).rows]:
            total += len(left)
            left = left[~((row <= left).all(axis=1) & (row < left).any(axis=1))]
        compared.append(total)
    model = CostModel(comparison_s=1.0, message_s=0.0)
    assert model.merge_s(1500, 1500) == pytest.approx(np.mean(compared), rel=0.05)
    assert model.merge_s(0, 1500) == 0.0


steps = st.lists(st.tuples(st.floats(0.01, 5.0), st.floats(0.1, 3.0)), max_size=5)


@given(steps, st.floats(0, 20), st.floats(0, 20))
def test_work_is_done_when_the_speeds_add_up_to_it(
    gaps: list[tuple[float, float]], start_s: float, work_s: float
) -> None:
    times = np.concatenate(([0.0], np.cumsum([gap for gap, _ in gaps])))
    speeds = [1.0, *(speed for _, speed in gaps)]
    interference = Interference.of(zip(times.tolist(), speeds, strict=True))
    end_s = interference.finish_s(start_s, work_s)
    edges = np.append(times, np.inf)
    inside = np.clip(np.minimum(end_s, edges[1:]) - np.maximum(start_s, edges[:-1]), 0, None)
    assert float(inside @ np.array(speeds)) == pytest.approx(work_s, abs=1e-9)


def test_speeds_that_are_none_are_refused() -> None:
    for wrong in ([(1.0, 1.0)], [(0.0, 0.0)], [(0.0, 1.0), (0.0, 2.0)]):
        with pytest.raises(ValueError, match="speeds"):
            Interference.of(wrong)
