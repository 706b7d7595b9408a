from __future__ import annotations

import json
from typing import Any

import pytest
from tests.cli.program import answer, complaint, run
from tests.paths import EXAMPLES, vectors

VECTORS = vectors("drs.json")


def answered(case: dict[str, Any]) -> Any:
    """The vectors as they are: what a case carries besides is not looked at."""
    return answer("allocate", "-", stdin=json.dumps(case))


@pytest.mark.parametrize("case", VECTORS["cases"], ids=lambda case: str(case["id"]))
def test_every_vector_is_answered(case: dict[str, Any]) -> None:
    found, expected = answered(case), case["expected"]
    if "error" in expected:
        assert found["error"]["type"] == expected["error"]
        assert found["error"]["message"]
    else:
        assert found["k"] == expected["k"]
        assert found["ET"] == pytest.approx(expected["ET"], rel=1e-6)
        assert found.get("kmin", []) == expected.get("kmin", found["kmin"])
        assert found["rho_i"] == pytest.approx(expected.get("rho_i", found["rho_i"]))


@pytest.mark.parametrize("case", VECTORS["traffic"], ids=lambda case: str(case["id"]))
def test_rates_follow_from_gains(case: dict[str, Any]) -> None:
    found, expected = answered(case), case["expected"]
    if "error" in expected:
        assert found["error"]["type"] == expected["error"]
    else:
        assert found["lambda_i"] == pytest.approx(expected["lambda_i"])
        assert found["visit"] == pytest.approx(expected["visit"])


def test_the_example_shows_a_table() -> None:
    result = run("allocate", EXAMPLES / "allocate-video.json")
    assert result.exit_code == 0
    assert result.stdout.startswith("10 processors")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"mu_i": [0.0]}, "mu_i[0]: must be > 0"),
        ({"lambda_i": [-1.0]}, "lambda_i[0]: must be >= 0"),
        ({"lambda0": 0}, "lambda0: must be > 0"),
        ({"s_i": [1.0, 1.0]}, "s_i: must have one entry for each of the 1 operators; got 2"),
        ({"a_i": [-0.5]}, "a_i[0]: must be >= 0"),
        ({"Kmax": None}, "give Kmax to place so many processors, or Tmax"),
        ({"Tmax": 1.0}, "give Kmax to place so many processors, or Tmax"),
        ({"Kcap": 3}, "Kcap: limits a search for Tmax"),
        ({"gamma": [1.0]}, "give lambda0 and lambda_i, or gamma and G"),
        ({"lambda0": None, "lambda_i": None, "gamma": [1.0], "G": [[0.0, 1.0]]}, "G: must have 1 rows and columns"),
        ({"mu_i": None}, "mu_i: is missing"),
        ({"model": "mm1"}, "model: "),
        ({"Kmaxx": 3}, "Kmaxx: there is no such key; did you mean Kmax"),
    ],
)
def test_bad_input_is_one_line(change: dict[str, Any], said: str) -> None:
    case = {"lambda0": 1.0, "lambda_i": [1.0], "mu_i": [2.0], "Kmax": 2} | change
    assert complaint("allocate", "-", stdin=json.dumps(case)).startswith(f"mead allocate: standard input: {said}")
