"""A preference query whose files were deleted or damaged is refused in one line, before anything is changed."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.program import answer, complaint
from tests.cli.test_preference import offers
from tests.faults.test_damaged_log import content, flip

pytestmark = pytest.mark.usefixtures("spark")

ASKED = ("--event-time", "seen", "--minimise", "price", "--window", "400 ms", "--slide", "200 ms")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The input, and the folder of a query that has answered it: one batch of tuples."""
    place = tmp_path_factory.mktemp("preference")
    offers(place / "offers")
    assert answer("preference", place / "offers", *ASKED, "--folder", place / "state")["tuples"] == 300
    return place


def only(folder: Path) -> Path:
    (file,) = (path for path in folder.iterdir() if not path.name.startswith("."))
    return file


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "the checkpoint is deleted": (
        lambda query: shutil.rmtree(query / "checkpoint"),
        "query/checkpoint: deleted or replaced: ",
    ),
    "the index of the tuples is damaged": (
        lambda query: flip(query / "tuples/index", 20),
        "query/tuples/index: the line at byte 0 is damaged",
    ),
    "the tuples are deleted": (
        lambda query: shutil.rmtree(query / "tuples"),
        "query/tuples/index: it ends with batch -1, but ",
    ),
    "the results are deleted": (
        lambda query: shutil.rmtree(query / "results"),
        "query: the query has processed 0 tuples, but ",
    ),
    "the index of the results is damaged": (
        lambda query: flip(query / "results/index", 20),
        "query/results/index: the line at byte 0 is damaged",
    ),
    "the question is empty": (
        lambda query: (query / "query.json").write_bytes(b""),
        "query/query.json: missing, empty or damaged",
    ),
    "the question is another value": (
        lambda query: (query / "query.json").write_bytes(b"[1]"),
        "query/query.json: missing, empty or damaged",
    ),
    "the state is cut": (
        lambda query: only(query / "state").write_bytes(only(query / "state").read_bytes()[:50]),
        ".json: missing, empty or damaged",
    ),
    "the state is another value": (
        lambda query: only(query / "state").write_bytes(b"{}"),
        ".json: missing, empty or damaged",
    ),
    "the state is deleted": (lambda query: only(query / "state").unlink(), ".json: missing, empty or damaged"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_query_is_refused_before_anything_is_changed(finished: Path, tmp_path: Path, damage: str) -> None:
    do, message = DAMAGES[damage]
    folder = shutil.copytree(finished / "state", tmp_path / "state")
    do(folder / "query")
    before = content(folder)
    said = complaint("preference", finished / "offers", *ASKED, "--folder", folder)
    assert f"{folder}/query" in said
    assert message in said
    assert "restore it from a copy, or start over in a new folder" in said
    assert "start-over" not in said
    assert "Traceback" not in said
    assert content(folder) == before
