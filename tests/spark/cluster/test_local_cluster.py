"""The same pipeline on executors in processes of their own."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import numpy as np
import pytest
from tests.programs import program
from tests.spark.cluster.cluster_run import COME, ROWS, WORK
from tests.waiting import PATIENCE_S

from mead.demo.log_lines import log_lines
from mead.demo.matcher import make_matcher
from mead.demo.parser import parse

pytestmark = [pytest.mark.slow, pytest.mark.spark]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What came of one application, to which all of it happened: executors take seconds to start."""
    command = program("tests.spark.cluster.cluster_run", tmp_path_factory.mktemp("cluster"))
    run = subprocess.run(command, check=False, capture_output=True, text=True, timeout=3 * PATIENCE_S)
    assert run.returncode == 0, run.stderr[-3000:]
    answer: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    return answer


@pytest.fixture(scope="module")
def parsed() -> Any:
    """What the parser makes of all lines, without Spark."""
    return parse_lines(ROWS)


def parse_lines(rows: int) -> Any:
    ids = np.arange(rows)
    return parse(log_lines(ids).append_column("id", ids).append_column("arrival_us", ids))


def test_nothing_is_lost_or_counted_twice_though_an_executor_is_killed(found: dict[str, Any], parsed: Any) -> None:
    result = found["log_analysis"]
    assert result["parsed"] == result["totals"] == parsed.num_rows, result
    assert result["matched"] == result["matched_in_log"] == make_matcher()(parsed).num_rows > 0


def test_workers_of_executors_join_the_groups_of_their_operators(found: dict[str, Any]) -> None:
    cpu_s = found["log_analysis"]["cpu_s"]
    if not cpu_s:
        pytest.skip("no control groups here")
    assert all(cpu_s[name] > 0 for name in WORK), found


def test_executors_follow_the_plan(found: dict[str, Any], parsed: Any) -> None:
    assert found["plan"]["executors"] == [2, 1, 2]
    killed, new = found["plan"]["replaced"]
    assert killed != new
    assert found["plan"]["parsed"] == parsed.num_rows


def test_a_cluster_of_two_executors_grants_no_third(found: dict[str, Any]) -> None:
    assert found["negotiation"] == {"held": 2, "at_once": 0, "wanted": 4, "held_at_last": 2}


def test_the_loop_gives_executors_back_through_a_negotiator(found: dict[str, Any]) -> None:
    result = found["controlled"]
    assert result["replicas"] == [2, 1], result
    assert any(reason.startswith("Lower parser from 2 to 1 replicas: ") for reason in result["reasons"]), result
    assert result["failed_rounds"] == 0
    assert result["drained"], result
    assert result["parsed"] == parse_lines(result["rows"]).num_rows, result


def test_the_loop_asks_for_an_executor_and_uses_it_when_it_has_come(found: dict[str, Any]) -> None:
    result = found["grown"]
    assert result["replicas"] == [1, 2], result
    assert result["executors"] == 2
    assert any(reason.startswith("Raise parser from 1 to 2 replicas: ") for reason in result["reasons"]), result
    assert COME in result["reasons"][-1], result
    assert result["errors"], "it does not come at once, and the round says so"
    assert all("2 processors were ordered and 1 were granted" in error for error in result["errors"]), result
