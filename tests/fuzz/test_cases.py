"""JSON cases that nobody would write, by the hundred: each is solved, or answered in one line, and none takes long."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.program import complaint
from tests.fuzz.effort import tried

from mead.config.allocate_case import AllocateCase
from mead.config.solve_case import ArrivalKeys, OperatorKeys, ServiceKeys, SolveCase, matrices_in
from mead.keys import ConfigError, parse
from mead.reports.models.allocate import solve_allocation
from mead.reports.models.solve import solve_case

KINDS = (SolveCase, ArrivalKeys, OperatorKeys, ServiceKeys, AllocateCase)
KEYS = sorted({key for kind in KINDS for key in kind.model_fields})

numbers = (
    st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([0, 1, -1, 0.5, 100, 1e-12, 1e12, 1e-300, 1e300, 128, 10_000_000])
)
scalars = (
    st.none() | st.booleans() | numbers | st.sampled_from(["a", "b", "erlang", "map", "mmk", ""]) | st.text(max_size=4)
)
values: st.SearchStrategy[Any] = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=12,
)
matrices = st.integers(1, 3).flatmap(
    lambda size: st.lists(st.lists(numbers, min_size=size, max_size=size), min_size=size, max_size=size)
)
services = st.fixed_dictionaries({"type": st.just("erlang")}, optional={"phases": st.integers(1, 9)}) | (
    st.fixed_dictionaries({"alpha": st.lists(numbers, max_size=3), "T": matrices})
)
operators = st.lists(
    st.fixed_dictionaries(
        {"name": st.sampled_from(["a", "b", "c", "d"]), "mean_service_s": numbers},
        optional={"service": services, "servers": st.sampled_from([1, 2, 100_000]), "share": numbers},
    ),
    min_size=1,
    max_size=4,
)
cases = st.fixed_dictionaries(
    {
        "arrival": st.fixed_dictionaries({"rate_per_s": numbers, "scv": numbers})
        | st.fixed_dictionaries({"D0": matrices, "D1": matrices}),
        "operators": operators,
    },
    optional={
        "edges": st.lists(st.lists(st.sampled_from(["a", "b", "c", "d"]), min_size=2, max_size=2), max_size=4),
        "model": st.sampled_from(["map", "mg1", "kingman", "mmk", "gigk"]),
        "percentiles": st.lists(numbers, max_size=3),
    },
)
rates = st.lists(numbers | st.sampled_from([1.0, 2.0, 50.0]), min_size=1, max_size=3)
placements = st.fixed_dictionaries(
    {"mu_i": rates},
    optional={
        "lambda0": numbers,
        "lambda_i": rates,
        "gamma": rates,
        "G": matrices,
        "a_i": rates,
        "s_i": rates,
        "model": st.sampled_from(["mmk", "ggk_ac", "ggk_whitt"]),
        "Kmax": st.integers(1, 10_000_000),
        "Tmax": numbers,
        "Kcap": st.integers(1, 10_000_000),
    },
)


def one_line(kind: Any, solve: Any, document: Any) -> None:
    """A document of finite numbers, or one line that says why not."""
    said = ""
    try:
        json.dumps(solve(parse(kind, json.dumps(document))).as_json(), allow_nan=False)
    except ConfigError as error:
        said = str(error)
    assert "\n" not in said
    assert len(said) < 2000


@given(values | cases.flatmap(lambda good: st.dictionaries(st.sampled_from(KEYS), values, max_size=2).map(good.__or__)))
@tried(300)
def test_any_case_to_solve_is_answered_in_one_line(document: Any) -> None:
    one_line(SolveCase, solve_case, document)


@given(cases)
@tried(300)
def test_every_network_is_solved_or_refused(document: dict[str, Any]) -> None:
    one_line(SolveCase, solve_case, document)


@given(values | placements)
@tried(400)
def test_any_case_to_allocate_is_answered_in_one_line(document: Any) -> None:
    one_line(AllocateCase, solve_allocation, document)


@given(values)
@tried(200)
def test_any_document_of_matrices_is_answered_in_one_line(document: Any) -> None:
    said = ""
    try:
        matrices_in(json.dumps({"windows": document}).encode())
    except ConfigError as error:
        said = str(error)
    assert "\n" not in said


@pytest.mark.parametrize("command", ["solve", "allocate"])
@pytest.mark.parametrize("text", [b"", b"{", b"[" * 100_000, b'{"a":' * 50_000, b"\xff\xfe", b'"\\ud800"', b"1e999"])
def test_text_that_is_no_case_is_one_line(command: str, text: bytes) -> None:
    assert complaint(command, "-", stdin=text).startswith(f"mead {command}: standard input: ")


def test_a_chain_of_500_operators_is_refused_in_one_line() -> None:
    names = [f"o{number}" for number in range(500)]
    case = {
        "arrival": {"rate_per_s": 10, "scv": 1},
        "operators": [{"name": name, "mean_service_s": 0.001} for name in names],
        "edges": list(pairwise(names)),
    }
    said = complaint("solve", "-", stdin=json.dumps(case))
    assert said == "mead solve: standard input: operators: must have at most 200 entries; got 500"
