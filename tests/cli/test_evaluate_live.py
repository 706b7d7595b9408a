"""``mead evaluate live``, as far as it gets without Spark."""

from __future__ import annotations

import pytest
from tests.cli.program import complaint


@pytest.mark.parametrize("policy", ["drs", "pasps@predictor=lr", "psps", "dabs"])
def test_who_changes_replicas_alone_is_refused_where_operators_have_one(policy: str) -> None:
    said = complaint("evaluate", "live", "--policy", "static", "--policy", policy)
    assert said == (
        f"mead evaluate live: {policy} changes replicas alone, and operators may have one; give --replicas 2 or more"
    )


def test_more_replicas_than_there_may_be_are_refused() -> None:
    said = complaint("evaluate", "live", "--replicas", "2", "--policy", "static@replicas=3")
    assert said.endswith("static@replicas=3 is for 3 replicas, and operators may have 2; give --replicas 3 or more")
    assert "--replicas" in complaint("evaluate", "live", "--replicas", "0")
