"""The pictures of the pages are made by a command, and are those that the pages show."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from tests.paths import ROOT
from tests.web.test_pictures import TAKEN

PICTURE = re.compile(r"!\[[^\]]+\]\((?P<file>[^)]+\.(?:svg|png))\)")


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pictures")
    subprocess.run([sys.executable, ROOT / "tools/figures.py", folder], check=True, capture_output=True)
    return folder


def test_every_drawing_that_a_page_shows_is_made_by_the_command_and_no_other(drawn: Path) -> None:
    assert shown("svg") == {path.name for path in drawn.iterdir()}
    assert shown("svg") == {path.name for path in (ROOT / "docs/pictures").glob("*.svg")}


def test_every_picture_of_the_page_that_is_shown_is_taken_by_the_command_and_no_other() -> None:
    assert shown("png") == set(TAKEN.values())
    assert shown("png") == {path.name for path in (ROOT / "docs/pictures").glob("*.png")}


def shown(ending: str) -> set[str]:
    pages = (ROOT / "docs").rglob("*.md")
    files = (Path(picture["file"]) for page in pages for picture in PICTURE.finditer(page.read_text()))
    return {file.name for file in files if file.suffix == f".{ending}"}


def test_they_say_in_words_what_they_show(drawn: Path) -> None:
    for path in drawn.iterdir():
        written = (ROOT / "docs/pictures" / path.name).read_text()
        texts = [
            [element.text for element in ET.fromstring(content).iter("{http://www.w3.org/2000/svg}text")]  # noqa: S314 - ours
            for content in (path.read_text(), written)
        ]
        assert texts[0] == texts[1], f"docs/pictures/{path.name} is out of date: run `make pictures`"
        assert len(texts[0]) > 5
