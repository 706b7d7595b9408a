from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mead.demo.log_lines import EVENTS, MALFORMED_OF_1024, log_lines
from mead.demo.parser import parse_line

SAMPLE = 20_000


@given(st.lists(st.integers(0, 2**40)))
def test_a_line_depends_on_its_number_alone(numbers: list[int]) -> None:
    together = log_lines(np.array(numbers, np.int64))["line"].to_pylist()
    assert together == [log_lines(np.array([number]))["line"][0].as_py() for number in numbers]


def test_a_few_lines_are_malformed_in_each_way_and_the_rest_are_whole() -> None:
    lines = log_lines(np.arange(SAMPLE))["line"].to_pylist()
    malformed = [line for line in lines if parse_line(line) is None]
    expected = SAMPLE * MALFORMED_OF_1024 / 1024
    assert abs(len(malformed) - expected) < 5 * expected**0.5
    assert any(line.startswith("    at ") for line in malformed)
    assert any(len(line) < 26 for line in malformed)
    assert any("Z [" in line for line in malformed)


def test_everything_that_can_happen_happens() -> None:
    parts = {parse_line(line) for line in log_lines(np.arange(SAMPLE))["line"].to_pylist()} - {None}
    kinds = {(part[1], part[2]) for part in parts if part}
    assert kinds == {(level, component) for level, component, _ in EVENTS}
