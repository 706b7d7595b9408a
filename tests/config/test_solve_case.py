"""The files that people write: what is accepted, and how a mistake is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.paths import ROOT

from mead.config.solve_case import MatricesFile, SolveCase, matrices_in
from mead.keys import ConfigError, parse, read_file
from mead.queueing import MAP

CASE: dict[str, Any] = {
    "arrival": {"rate_per_s": 100, "scv": 2.0},
    "operators": [{"name": "parser", "mean_service_s": 0.001}, {"name": "matcher", "mean_service_s": 0.002}],
    "edges": [["parser", "matcher", 0.5]],
}


def complaint(change: dict[str, Any]) -> str:
    with pytest.raises(ConfigError) as caught:
        parse(SolveCase, json.dumps(CASE | change).encode())
    return str(caught.value)


def with_operator(**keys: Any) -> dict[str, Any]:
    return {"operators": [CASE["operators"][0], {"name": "matcher", "mean_service_s": 0.002} | keys]}


def test_sizes_of_a_case_are_limited() -> None:
    many = {"operators": [{"name": f"o{number}", "mean_service_s": 0.001} for number in range(500)], "edges": []}
    assert complaint(many) == "operators: must have at most 200 entries; got 500"
    assert complaint({"edges": [["parser", "matcher"]] * 1001}) == "edges: must have at most 1000 entries; got 1001"
    assert complaint({"percentiles": [50] * 21}) == "percentiles: must have at most 20 entries; got 21"
    matrix = {"D0": [[1.0]] * 1025, "D1": [[1.0]]}
    assert complaint({"arrival": matrix}) == "arrival.D0: a matrix may have 1,024 rows; got 1,025"


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("solve-*.json")), ids=lambda path: path.name)
def test_examples_are_cases(path: Path) -> None:
    parse(SolveCase, read_file(path))


def test_defaults_are_those_of_the_reference() -> None:
    case = parse(SolveCase, json.dumps({"arrival": CASE["arrival"], "operators": CASE["operators"][:1]}).encode())
    assert case.model == "map"
    assert list(case.percentiles) == [50, 95, 99]
    assert not case.edges
    operator = case.operators[0]
    assert (operator.servers, operator.share, operator.service.type, operator.service.phases) == (1, 1.0, "erlang", 2)


@pytest.mark.parametrize("name", ["one-queue", "tandem", "log-analysis"])
def test_bursty_examples_have_the_arrivals_of_the_tutorial(name: str) -> None:
    keys = parse(SolveCase, (ROOT / f"examples/solve-{name}.json").read_bytes()).arrival
    assert keys.D0 is not None
    assert keys.D1 is not None
    arrivals = MAP(keys.D0, keys.D1)
    assert arrivals.rate_per_s == pytest.approx(330, rel=1e-6)
    assert arrivals.idc_limit == pytest.approx(200, rel=1e-4)


def test_selectivity_of_an_edge_is_optional() -> None:
    case = parse(SolveCase, json.dumps(CASE | {"edges": [["parser", "matcher"]]}).encode())
    assert case.edges == (("parser", "matcher", 1.0),)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (with_operator(mean_service_s=0), "operators[1].mean_service_s: must be > 0; got 0"),
        (with_operator(mean_service_s="1 ms"), "operators[1].mean_service_s: must be a valid number; got '1 ms'"),
        (with_operator(mean_service_s=1e-20), "operators[1].mean_service_s: must lie between 1e-12 and 1e+12, check"),
        (with_operator(mean_service_s=None), "operators[1]: mean_service_s is missing"),
        (with_operator(servers=0), "operators[1].servers: must be >= 1; got 0"),
        (with_operator(servers=1.5), "operators[1].servers: must be a valid integer; got 1.5"),
        (with_operator(share=float("nan")), "operators[1].share: must be"),
        (with_operator(cores=2), "operators[1].cores: there is no such key"),
        (with_operator(service={"type": "pareto"}), "operators[1].service.type: must be 'erlang'; got 'pareto'"),
        (with_operator(service={"type": "erlang", "phases": 10**9}), "operators[1].service.phases: must be <= 128"),
        (with_operator(service={"alpha": [1.0]}), "operators[1].service: give"),
        (with_operator(service={"alpha": [1.0], "T": [[1, 2], [3]]}), "operators[1].service.T: the rows of a matrix"),
        (
            with_operator(service={"type": "erlang", "alpha": [1.0], "T": [[-1.0]]}),
            "operators[1].service: an Erlang distribution is given by its phases",
        ),
        ({"operators": []}, "operators: must have at least 1 entry; got 0"),
        ({"arrival": {}}, "arrival: give D0 and D1, or rate_per_s and scv; got neither"),
        ({"arrival": {"D0": [[-1.0]], "D1": None}}, "arrival: give D0 and D1, or rate_per_s and scv; got D0"),
        ({"arrival": {"rate_per_s": 1, "scv": -1}}, "arrival.scv: must be >= 0; got -1"),
        ({"edges": [["parser"]]}, "edges[0][1]: is missing"),
        ({"edges": [["parser", "matcher", 1, 2]]}, "edges[0]: must have at most 3 entries; got 4"),
        ({"edges": [["parser", "matcher", -1]]}, "edges[0][2]: must be > 0; got -1"),
        ({"edges": ["parser>matcher"]}, "edges[0]: must be a valid array; got 'parser>matcher'"),
        ({"model": "mm1"}, "model: must be 'map', 'mg1', 'kingman', 'mmk' or 'gigk'; got 'mm1'"),
        ({"percentiles": [95, 100]}, "percentiles[1]: must be <= 99.99999999; got 100"),
        ({"percentiles": [0]}, "percentiles[0]: must be >= 1; got 0"),
        ({"perc entiles": [95]}, "['perc entiles']: there is no such key"),
    ],
)
def test_a_mistake_is_named_by_its_key(change: dict[str, Any], expected: str) -> None:
    said = complaint(change)
    assert said.startswith(expected)
    assert "\n" not in said


@pytest.mark.parametrize("text", [b"", b"{", b"[1, 2", b"\xff\xfe", b'{"arrival": }', b"{" * 100_000])
def test_what_is_not_json_is_called_so(text: bytes) -> None:
    with pytest.raises(ConfigError, match=r"^not JSON: .+"):
        parse(SolveCase, text)


def test_long_values_are_not_repeated_in_full() -> None:
    assert len(complaint({"model": "x" * 10_000})) < 200


def test_missing_file_is_named() -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        read_file(Path("no-such-case.json"))


def test_matrices_come_from_their_own_file_or_from_a_fit() -> None:
    plain = {"D0": [[-2.0, 1.0], [0.0, -3.0]], "D1": [[1.0, 0.0], [1.0, 2.0]]}
    fit = {"windows": [{"size": 10, "maps": [plain | {"states": 2, "score": 0.1}, {"D0": [[-1.0]], "D1": [[1.0]]}]}]}
    expected = MatricesFile(D0=((-2.0, 1.0), (0.0, -3.0)), D1=((1.0, 0.0), (1.0, 2.0)))
    assert matrices_in(json.dumps(plain).encode()) == expected
    assert matrices_in(json.dumps(fit).encode()) == expected
    with pytest.raises(ConfigError, match=r"windows\[0\].maps"):
        matrices_in(b'{"windows": [{"maps": []}]}')
