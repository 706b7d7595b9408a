"""The constants of virtual time: what the fits rest on."""

from __future__ import annotations

from dataclasses import replace

import pytest
from experiments.ppq.calibration import closed_utilization, even_parts, even_points, fitted
from experiments.ppq.fig11 import EVEN
from experiments.ppq.fig12 import PUBLISHED, Fig12Run, fig12_parts, saving

from mead.preference.simulator.cost import FORMULA_COMPARISON_S, SKYLINE


def test_the_formula_with_its_own_constant_is_that_of_the_logs() -> None:
    for workers, (_, logged) in EVEN.items():
        assert closed_utilization(workers) == pytest.approx(logged, rel=0.08)


def test_a_fit_does_not_depend_on_where_it_starts() -> None:
    """So one step is enough."""
    from_use, from_formula = (
        fitted([one.implied_comparison_s for one in even_points([1], 10.0, (4, 8, 12), cost)])
        for cost in (SKYLINE, replace(SKYLINE, comparison_s=FORMULA_COMPARISON_S))
    )
    assert from_formula == pytest.approx(from_use, rel=0.01)


def test_bursty_panes_cost_more_than_panes_of_the_mean_size() -> None:
    """With one and the same constant: this is what the formula's makes up for."""
    (point,) = even_points([1, 2], 20.0, (8,))
    assert point.run > 1.05 * closed_utilization(8, SKYLINE.comparison_s)


def test_the_fit_is_said() -> None:
    *_, said = even_parts(list(even_points([1], 10.0, (8,))))
    assert "The fit is c = 0.1" in str(said)
    assert f"in use is {1e6 * SKYLINE.comparison_s:.3f} us" in str(said)


def test_what_merging_saves_is_over_all_runs() -> None:
    runs = [Fig12Run(merging, seed, 600, 1, 20 - 8 * merging, 1, 0.4 - 0.2 * merging, 0, 0, PUBLISHED[merging])
            for seed in (1, 2) for merging in (False, True)]  # fmt: skip
    assert saving(runs, "window_workers") == pytest.approx(0.4)
    *_, said = fig12_parts(runs)
    assert "leave 50 % less idle time" in str(said)
