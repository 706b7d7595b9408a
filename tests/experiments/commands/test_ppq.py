"""``python -m experiments ppq-...`` as people and scripts meet it; short streams."""

from __future__ import annotations

import pytest
from experiments.ppq.calibration import fitted
from tests.experiments.program import answer, complaint, run

from mead.preference.simulator.cost import FORMULA_COMPARISON_S, RUN_COMPARISON_S, TOP_DELTA, expected_sizes

pytestmark = pytest.mark.slow


def test_elasticity_alone_saturates_where_both_levels_hold_the_set_point() -> None:
    document = answer("ppq-fig10", "--seeds", 1, "--duration", 40)
    assert document["experiment"] == "ppq-fig10"
    assert [(one["stream"], one["two_level"]) for one in document["runs"]] == [
        ("map", False),
        ("map", True),
        ("ss", False),
        ("ss", True),
    ]
    for alone, both in (document["runs"][:2], document["runs"][2:]):
        assert alone["utilization"] > 2
        assert alone["most_workers"] > 30
        assert 0.8 <= both["median"] <= 1.05
        assert 5 < both["workers"] < 12
    assert document["runs"][0]["paper"]["utilization"] == 2.83


def test_the_filter_ratio_is_that_of_the_formula() -> None:
    document = answer("ppq-fig11", "--workers", 12, "--workers", 1, "--duration", 10)
    one, twelve = document["points"]
    assert (one["workers"], twelve["workers"]) == (1, 12)
    for point in (one, twelve):
        formula = point["workers"] * expected_sizes(1 << 13)[round(7868 / point["workers"])] / 7868
        assert point["formula_ratio"] == pytest.approx(formula)
        assert point["real_ratio"] == pytest.approx(formula, rel=0.02), "real tuples through the real kernel"
        assert point["real_ratio"] == pytest.approx(point["logged_ratio"], rel=0.03)
    assert (one["real_ratio"], twelve["real_ratio"]) == pytest.approx((0.27, 0.58), abs=0.02), "as the paper says"
    assert twelve["pid_splitting"] < 8
    assert one["logged_splitting"] == 1.0


def test_merge_tasks_save_a_third_to_half_of_the_idle_time() -> None:
    document = answer("ppq-fig12", "--seeds", 1, "--duration", 160)
    without, with_merge = document["runs"]
    assert 0.3 <= 1 - with_merge["idle_ratio"] / without["idle_ratio"] <= 0.5
    assert with_merge["window_workers"] < 0.8 * without["window_workers"], "0.64 in the authors' logs"
    assert (without["merging"], without["merges_per_update"]) == (False, 0)
    assert with_merge["merges_per_update"] > 0


def test_a_table_has_both_queries_and_the_best_static_choice() -> None:
    document = answer("ppq-tables", "--only", "rw", "--duration", 15)
    skyline, top_delta = document["rows"]
    assert (skyline["query"], top_delta["query"]) == ("skyline", "top-delta")
    assert skyline["paper"]["window_workers"] == 12.6
    assert set(skyline["static"]) == {"panes", "windows"}
    assert skyline["static"]["panes"] + skyline["static"]["windows"] == 59
    assert skyline["loss"] == pytest.approx(1 - skyline["windows_per_s"] / skyline["static_windows_per_s"])
    assert skyline["static_overrun"] >= 0
    quick = answer("ppq-tables", "--only", "rw", "--duration", 15, "--query", "skyline", "--no-static")
    (alone,) = quick["rows"]
    assert alone["static"] is None
    assert alone["windows_per_s"] == skyline["windows_per_s"], "the same seed gives the same answer"
    words = ("ppq-tables", "--only", "rw", "--duration", 20, "--query", "skyline", "--no-static")
    (by_the_code,), (by_the_paper,) = (answer(*words, "--profile", name)["rows"] for name in ("code", "paper"))
    assert by_the_paper["window_workers"] != by_the_code["window_workers"]


def test_interference_is_met_by_more_workers() -> None:
    runs = answer("ppq-fig18", "--duration", 30)["runs"]
    assert [one["intensity"] for one in runs] == [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    assert runs[-1]["workers"] > 1.3 * runs[0]["workers"]


def test_workers_rise_and_fall_with_the_rate_in_most_runs() -> None:
    done = answer("ppq-fig9", "--seeds", 3)["runs"]
    assert sum(one["follows"] for one in done) >= 2
    for one in done:
        steps = one["steps"]
        assert [step["rate_per_s"] for step in steps] == [40e3, 50e3, 70e3, 80e3, 60e3, 40e3]
        assert set(steps[0]["workers"][:2]) == {3}, "the first interval decides nothing"
        assert all(step["panes_per_s"] > 9.5 for step in steps)
        assert steps[5]["splitting"] < 0.6 * steps[3]["splitting"]
        assert all(0.8 <= step["utilization"] <= 1.15 for step in steps[1:])


def test_the_throughput_is_less_even_with_a_longer_interval() -> None:
    runs = answer("ppq-fig17", "--seeds", 1, "--duration", 40)["runs"]
    assert len(runs) == 5 * 3
    even, uneven = ([one["variation"] for one in runs if one["control_s"] == control_s] for control_s in (1.0, 20.0))
    assert max(even) < min(uneven)


def test_the_constants_in_use_are_those_that_a_fit_finds() -> None:
    points = answer("ppq-fit", "--seeds", 2, "--duration", 10)["points"]
    assert [one["workers"] for one in points] == [2, 3, 4, 5, 6, 7, 8, 10, 12]
    found_s = fitted([one["implied_comparison_s"] for one in points])
    assert found_s == pytest.approx(RUN_COMPARISON_S, rel=0.06)
    assert found_s < 0.95 * FORMULA_COMPARISON_S, "burstiness is not counted twice"
    assert all(one["by_formula"] == pytest.approx(one["logged"], rel=0.08) for one in points)
    shown = " ".join(run("ppq-fit", "--query", "top-delta", "--seeds", 1, "--duration", 10).stdout.split())
    assert f"in use is {TOP_DELTA.weight:g}" in shown


def test_tables_are_for_people_too() -> None:
    shown = " ".join(run("ppq-fig12", "--seeds", 1, "--duration", 10).stdout.split())
    assert "fb-default" in shown
    assert "less idle time (logs: 43 %, the paper: 45 %)" in shown


def test_bad_input_is_one_line() -> None:
    assert "there are rw, map1k" in complaint("ppq-tables", "--only", "map9k")
    assert "write one of skyline, top-delta" in complaint("ppq-tables", "--query", "top")
    assert "write one of skyline, top-delta" in complaint("ppq-fit", "--query", "top")
    assert "name it with --only" in complaint("ppq-tables", "--counts", __file__)
    assert "not two columns of numbers" in complaint("ppq-tables", "--only", "game1", "--counts", __file__)
    assert "multiple of the slide" in complaint("ppq-fig12", "--window", 500)
    assert "the authors' logs have 1, 2" in complaint("ppq-fig11", "--workers", 9)
    assert "is not one of 'code', 'paper'" in complaint("ppq-fig18", "--profile", "text")
