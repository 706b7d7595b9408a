"""The controller against vectors: worked examples, and decisions from the authors' logs."""

from __future__ import annotations

from math import nan
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.paths import vectors

from mead.preference.control.degrees import DegreeController, Degrees
from mead.preference.control.fuzzy import CODE, PAPER, Intensity, Profile, Speed, speed_grades

VECTORS = vectors("fuzzy.json")["vectors"]
PROFILES = {"code": CODE, "paper_text": PAPER}
CASES = [(vector, name) for vector in VECTORS for name in PROFILES if name in vector]


def inputs(vector: dict[str, Any]) -> tuple[float, float, float]:
    return vector["rho1"], nan if vector["sigma"] is None else vector["sigma"], vector["rho2"]


@pytest.mark.parametrize(("vector", "name"), CASES)
def test_grades_rules_and_factors(vector: dict[str, Any], name: str) -> None:
    expected, profile = vector[name], PROFILES[name]
    panes, splitting, windows = inputs(vector)
    for measured, grades in ((panes, expected["grades"]["rho1"]), (windows, expected["grades"]["rho2"])):
        ours = speed_grades(min(measured, 2.0))
        assert [ours[speed] for speed in Speed] == pytest.approx([grades[key] for key in "FAS"], abs=2e-6)
    if vector["sigma"] is not None:
        ours_splitting = profile.splitting_grades(splitting)
        published = [expected["grades"]["sigma"][key] for key in "MI"]
        assert [ours_splitting[term] for term in Intensity] == pytest.approx(published, abs=2e-6)
    assert profile.rule_degrees(panes, splitting, windows) == pytest.approx(expected["rule_degrees"], abs=2e-6)
    assert profile.factors(panes, splitting, windows) == pytest.approx(
        (expected["factor1"], expected["factor2"]), abs=2e-6
    )


@pytest.mark.parametrize(("vector", "name"), CASES)
def test_degrees_with_limit_and_pool(vector: dict[str, Any], name: str) -> None:
    expected = vector[name]
    controller, now = DegreeController(vector["N"], PROFILES[name]), Degrees(vector["n"], vector["m"])
    wanted = controller.propose(now, *inputs(vector))
    # A product that is exactly a half rounds either way, depending on the last bit of the library that made it.
    either_way = [int(tie) for tie in expected["rounding_tie"]]
    assert wanted.panes == pytest.approx(expected["new_n"], abs=either_way[0])
    assert wanted.windows == pytest.approx(expected["new_m"], abs=either_way[1])
    if "after_pool" in expected and not any(either_way):
        granted = controller.grant(now, wanted)
        assert [granted.panes, granted.windows] == expected["after_pool"]
        if "logged_next" in vector:
            assert [granted.panes, granted.windows] == vector["logged_next"]


degrees = st.integers(1, 58)
utilizations = st.floats(0, 5)


@given(degrees, degrees, utilizations, st.floats(0, 60) | st.just(nan), utilizations, st.sampled_from([CODE, PAPER]))
def test_there_is_always_one_worker_and_never_too_many(
    n: int, m: int, panes: float, splitting: float, windows: float, profile: Profile
) -> None:
    controller, now = DegreeController(59, profile), Degrees(n, min(m, 59 - n))
    wanted = controller.propose(now, panes, splitting, windows)
    granted = controller.grant(now, wanted)
    for answer in (wanted, granted):
        assert answer.panes >= 1
        assert answer.windows >= 1
        assert answer.total <= 59
    assert granted.panes <= wanted.panes
    assert granted.windows <= wanted.windows


@given(utilizations, st.floats(1, 60), utilizations, st.sampled_from([CODE, PAPER]))
def test_nobody_changes_by_more_than_half(panes: float, splitting: float, windows: float, profile: Profile) -> None:
    factors = profile.factors(panes, splitting, windows)
    assert all(0.5 - 1e-12 <= factor <= 1.5 + 1e-12 for factor in factors), "but for rounding"
