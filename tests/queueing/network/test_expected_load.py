"""Equations 2 to 7 of PA-SPS against the vectors, and against what must hold on any graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.paths import vectors

from mead.queueing import Link, edge_ratios, entry_shares, expected_loads, replicas_needed, whole_replicas

VECTORS = vectors("pasps.json")
CASES = {case["id"]: case for case in VECTORS["cases"]}
PLANS = [name for name, case in CASES.items() if case["kind"] == "plan"]


def link(text: str) -> Link:
    source, _, target = text.partition("->")
    return source, target


def test_every_case_of_the_vectors_is_run() -> None:
    assert {case["kind"] for case in CASES.values()} == {"plan", "eq2"}


@pytest.mark.parametrize("name", [name for name in CASES if name not in PLANS])
def test_replicas_of_one_operator(name: str) -> None:
    case: dict[str, Any] = CASES[name]
    needed = replicas_needed(case["lam"], case["et_ms"] / 1000, case["td_ms"] / 1000)
    assert needed == pytest.approx(case["expected"]["r_real"], abs=1e-6)
    assert whole_replicas(needed, case["pool"]) == case["expected"]["r"]


@pytest.mark.parametrize("name", PLANS)
def test_plans_of_the_vectors(name: str) -> None:
    case: dict[str, Any] = CASES[name]
    sent = {link(text): count for text, count in case["flow"].items()}
    last = {link(text): ratio for text, ratio in case["last_ratio"].items()}
    ratios = edge_ratios(sent, case["mu"], last)
    expected = {link(text): ratio for text, ratio in case["expected"]["edge_ratio"].items()}
    assert ratios == pytest.approx(expected, abs=1e-6)
    entries = {
        node: case["external"].get(node, 0.0) for node in case["nodes"] if node not in {target for _, target in sent}
    }
    loads = expected_loads(
        case["nodes"], entry_shares(entries, case["lambda_G"], {}), ratios, case["lambda_G_hat"], case["queue"]
    )
    assert set(loads) == set(case["expected"]["operators"])
    for node, numbers in case["expected"]["operators"].items():
        load = loads[node]
        needed = replicas_needed(load.total, case["et_ms"][node] / 1000, case["td_ms"] / 1000)
        found = (load.share, load.received, load.queued, load.total, needed)
        published = [numbers[key] for key in ("theta", "lam_r", "lam_q", "lam", "r_real")]
        assert found == pytest.approx(published, abs=1e-6)
        assert whole_replicas(needed, case["pool"]) == numbers["r"]


@pytest.mark.parametrize("case", VECTORS["repo_behaviour"], ids=lambda case: case["id"])
def test_one_operator_agrees_with_the_authors_program(case: dict[str, Any]) -> None:
    """Theirs counts per window of 5 s, ours per interval: it is the same number of replicas."""
    windows, window_s = case["predicted_windows"], case["window_s"]
    forecast = float(np.mean(windows)) * len(windows)
    load = expected_loads(["bolt"], {"bolt": 1.0}, {}, forecast, {"bolt": case["queue"]})["bolt"]
    assert load.received / len(windows) == pytest.approx(case["expected"]["input_per_window"])
    assert load.total / len(windows) == pytest.approx(case["expected"]["plus_queue"])
    needed = replicas_needed(load.total, case["et_ms"] / 1000, window_s * len(windows))
    assert whole_replicas(needed, 100) == case["expected"]["r"]


@given(st.integers(2, 6), st.data())
def test_queues_and_forecasts_follow_every_path_once(count: int, data: st.DataObject) -> None:
    """By the sum over all paths, which is what the recursion must come to."""
    names = [f"o{i}" for i in range(count)]
    ratios = {
        (names[i], names[j]): data.draw(st.floats(0.0, 3.0))
        for i in range(count)
        for j in range(i + 1, count)
        if data.draw(st.booleans())
    }
    queues = {name: float(data.draw(st.integers(0, 100))) for name in names}
    loads = expected_loads(names, {names[0]: 1.0}, ratios, 50.0, queues)

    def along(source: str, target: str) -> float:
        if source == target:
            return 1.0
        return sum(ratio * along(link[1], target) for link, ratio in ratios.items() if link[0] == source)

    for name in names:
        assert loads[name].received == pytest.approx(50.0 * along(names[0], name))
        assert loads[name].queued == pytest.approx(sum(queues[other] * along(other, name) for other in names))


def test_shares_of_several_entries_are_remembered() -> None:
    known = entry_shares({"a": 25.0, "b": 75.0}, 100.0, {})
    assert entry_shares({"a": 0.0, "b": 0.0}, 0.0, known) == {"a": 0.25, "b": 0.75}
