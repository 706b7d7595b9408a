"""Every promise on the page of guarantees names a test, and the test is there."""

from __future__ import annotations

import ast
import re

import pytest
from tests.paths import ROOT

PAGE = ROOT / "docs/explanation/guarantees.md"
ROWS = [row for row in PAGE.read_text().splitlines() if row.startswith("| ") and "| promise |" not in row]
TEST = re.compile(r"`(?P<file>tests/[\w/]+\.py)::(?P<name>test_\w+)` \|$")


def test_the_page_has_promises() -> None:
    assert len(ROWS) > 30


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.split("|")[1].strip())
def test_a_promise_names_a_test_that_is_there(row: str) -> None:
    named = TEST.search(row)
    assert named, "the last cell of a row names a test"
    tree = ast.parse((ROOT / named["file"]).read_text())
    assert named["name"] in {part.name for part in ast.walk(tree) if isinstance(part, ast.FunctionDef)}
