"""``mead solve`` as people and scripts meet it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cli.program import answer, complaint, run
from tests.paths import EXAMPLES

ONE_QUEUE = json.loads((EXAMPLES / "solve-one-queue.json").read_text())


def test_solve_answers_the_examples() -> None:
    for path in sorted(EXAMPLES.glob("solve-*.json")):
        document = answer("solve", path)
        assert set(document) == {"operators", "paths"}
        assert all("stable" in entry for part in document.values() for entry in part.values())


def test_solve_reads_standard_input() -> None:
    assert answer("solve", "-", stdin=json.dumps(ONE_QUEUE)) == answer("solve", EXAMPLES / "solve-one-queue.json")
    assert complaint("solve", "-", stdin="{}").startswith("mead solve: standard input: arrival: is missing")


def test_solve_table_shows_operators_and_paths() -> None:
    lines = run("solve", EXAMPLES / "solve-log-analysis.json").stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert any(line.startswith("matcher ") for line in lines)
    assert any(line.startswith("path parser>matcher ") for line in lines)


def test_names_are_shown_as_they_are_spelt() -> None:
    (operator,) = ONE_QUEUE["operators"]
    case = ONE_QUEUE | {"operators": [operator | {"name": "é [red]x"}]}
    lines = run("solve", "-", stdin=json.dumps(case)).stdout.splitlines()
    assert any(line.startswith("é [red]x ") for line in lines)
    assert any(line.startswith("path é [red]x ") for line in lines)


def test_overload_is_an_answer() -> None:
    result = run("solve", EXAMPLES / "solve-unstable.json")
    assert result.exit_code == 0
    assert result.stdout.count("overloaded") == 2
    document = answer("solve", EXAMPLES / "solve-unstable.json")
    assert document["paths"]["parser>matcher"] == {"stable": False, "utilization": pytest.approx(1.2375)}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not JSON"),
        ('{"arrival": ', "not JSON"),
        ("[]", "must be an object"),
        (json.dumps(ONE_QUEUE | {"arrival": {"rate_per_s": float("nan"), "scv": 1}}), "arrival.rate_per_s: must be"),
        (
            json.dumps(ONE_QUEUE | {"edges": [["matcher", "sink"]]}),
            "edges: the edge 'matcher' to 'sink' names an unknown",
        ),
        (json.dumps(ONE_QUEUE | {"edges": [["matcher", "matcher"]]}), "edges: the edges must not lead back"),
        (json.dumps(ONE_QUEUE | {"operators": [{"name": "a\nb"}]}), "operators[0]: mean_service_s is missing"),
    ],
)
def test_solve_names_what_is_wrong_with_a_case(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "case.json"
    path.write_text(text)
    assert complaint("solve", path).startswith(f"mead solve: {path}: {said}")


def test_solve_names_a_missing_file(tmp_path: Path) -> None:
    assert "no.json: cannot be read (No such file or directory)" in complaint("solve", tmp_path / "no.json")
    assert "cannot be read (Is a directory)" in complaint("solve", tmp_path)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    keys = list(value) if isinstance(value, dict) else list(range(len(value))) if isinstance(value, list) else []
    return [(*path, key) for key in keys] + [place for key in keys for place in places(value[key], (*path, key))]


@st.composite
def damaged_cases(draw: st.DrawFn) -> Any:
    """The largest example with a few of its values replaced by anything, or left out."""
    case = json.loads((EXAMPLES / "solve-tandem.json").read_text())
    for _ in range(draw(st.integers(1, 3))):
        *path, last = draw(st.sampled_from(places(case)))
        holder = case
        for key in path:
            holder = holder[key]
        if draw(st.booleans()):
            holder[last] = draw(json_values)
        else:
            del holder[last]
        if not places(case):
            break
    return case


@given(damaged_cases())
@settings(max_examples=200)
def test_a_damaged_case_is_answered_or_refused_in_one_line(case: Any) -> None:
    result = run("solve", "-", "--json", stdin=json.dumps(case))
    if result.exit_code == 0:
        json.loads(result.stdout, parse_constant=pytest.fail)
    else:
        assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1), result.output


@given(st.binary(max_size=200))
def test_any_bytes_are_refused_in_one_line(text: bytes) -> None:
    result = run("solve", "-", stdin=text)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1), result.output
