"""What the pages mention is there: commands and options, files, names in Python, other pages and their headings."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
from tests.docs.pages import ALL_PAGES, FENCE, PAGES, page_name
from tests.docs.spelling import missing_from_script, unknown_in
from tests.paths import ROOT

CODE = re.compile(r"(?<!`)`(?P<code>[^`\n]+)`(?!`)")
COMMAND = re.compile(r"(?:(?:\.venv/bin/)?mead|python -m experiments) [a-z-].*")
TARGET = re.compile(r"make (?P<target>[a-z]+)")
FOLDERS = "benchmarks|docs|examples|experiments|src|tests|tools"
FILE = re.compile(rf"(?:\.venv/bin/python )?(?P<file>(?:{FOLDERS})/[\w./-]*)(?P<options>.*)")
NAME = re.compile(r"(?P<name>mead(?:\.\w+)+)(?::(?P<member>\w+))?.*")
LINK = re.compile(r"\]\((?!https?:|mailto:)(?P<page>[^)#\s]*)(?:#(?P<heading>[^)\s]+))?\)")
HEADING = re.compile(r"^#+ (?P<title>.+)$", re.MULTILINE)
ANCHOR = re.compile(r"^\((?P<name>[\w-]+)\)=$", re.MULTILINE)


def mentioned(page: Path) -> list[str]:
    """What stands between single ticks, outside of blocks."""
    return [code["code"] for code in CODE.finditer(FENCE.sub("", page.read_text()))]


def is_there(name: str) -> bool:
    """A module, or something in one."""
    found: object = import_module("mead")
    place = "mead"
    for part in name.split(".")[1:]:
        place = f"{place}.{part}"
        if isinstance(found, ModuleType) and not hasattr(found, part):
            try:
                found = import_module(place)
            except ImportError:
                return False
        elif hasattr(found, part):
            found = getattr(found, part)
        else:
            return False
    return True


def anchors(page: Path) -> set[str]:
    """By which the headings of a page are linked to, on GitHub and in the built pages."""
    text = FENCE.sub("", page.read_text())
    titles = [heading["title"].strip().lower().replace(" ", "-") for heading in HEADING.finditer(text)]
    return {re.sub(r"[^\w-]", "", title) for title in titles} | {anchor["name"] for anchor in ANCHOR.finditer(text)}


@pytest.mark.parametrize("page", ALL_PAGES, ids=page_name)
def test_commands_and_their_options_exist(page: Path) -> None:
    targets = {target[1] for target in re.finditer(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)}
    for code in mentioned(page):
        if COMMAND.fullmatch(code):
            assert not unknown_in(code), f"{page_name(page)}: `{code}`: there is no {unknown_in(code)}"
        if target := TARGET.match(code):
            assert target["target"] in targets, f"{page_name(page)}: `{code}`: there is no such target"


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_files_and_names_exist(page: Path) -> None:
    for code in mentioned(page):
        if file := FILE.fullmatch(code):
            assert (ROOT / file["file"]).exists(), f"{page_name(page)}: there is no {file['file']}"
            if file["options"]:
                missing = missing_from_script(file["file"], file["options"].split())
                assert not missing, f"{page_name(page)}: {missing}"
        if name := NAME.fullmatch(code):
            whole = ".".join(filter(None, (name["name"], name["member"])))
            assert is_there(whole), f"{page_name(page)}: there is no {whole}"


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for link in LINK.finditer(FENCE.sub("", page.read_text())):
        target = page.parent / link["page"] if link["page"] else page
        assert target.exists(), f"{page_name(page)} links to {link['page']}"
        if link["heading"] and target.suffix == ".md":
            assert link["heading"] in anchors(target), f"{page_name(page)} links to {link['page']}#{link['heading']}"
