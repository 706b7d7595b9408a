"""Requirements as people write them."""

from __future__ import annotations

import pytest

from mead.values import Requirement


@pytest.mark.parametrize(
    ("text", "bound_s", "percent"),
    [
        ("mean <= 0.5 s", 0.5, None),
        ("p95<=2s", 2.0, 95.0),
        (" P99.9 < 250 ms ", 0.25, 99.9),
        ("mean <= 1e-3 s", 0.001, None),
        ("mean <= .75 s", 0.75, None),
    ],
)
def test_text_is_understood(text: str, bound_s: float, percent: float | None) -> None:
    assert Requirement.parse(text, "a>b") == Requirement("a>b", bound_s, percent)


@pytest.mark.parametrize(
    "text", ["", "p95", "p95 <= 2", "p95 >= 2 s", "median <= 2 s", "mean <= -1 s", "mean <= 2 sec"]
)
def test_other_text_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match=r"reads like 'mean <= 0\.5 s'"):
        Requirement.parse(text, "a")


@pytest.mark.parametrize(("text", "complaint"), [("mean <= 0 s", "above 0 s"), ("p0 <= 1 s", "between 0 and 100")])
def test_numbers_must_make_sense(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        Requirement.parse(text, "a")
