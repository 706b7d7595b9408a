"""The documentation builds without a warning and can be read and searched without a network."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.paths import ROOT

LOADED = re.compile(r'<(?:script|img|iframe)[^>]*\ssrc="(?:https?:)?//[^"]*|<link[^>]*\shref="(?:https?:)?//[^"]*')


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built pages. The build writes the pages of the modules beside its sources, so it works on a copy."""
    folder = tmp_path_factory.mktemp("docs")
    shutil.copytree(ROOT / "docs", folder / "docs", ignore=shutil.ignore_patterns("api"))
    build = [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "--keep-going", "docs", "site"]
    run = subprocess.run(build, cwd=folder, check=False, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return folder / "site"


@pytest.mark.slow
def test_pages_load_nothing_from_the_network(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert pages
    for page in pages:
        outside = LOADED.search(page.read_text())
        assert not outside, f"{page.name} loads {outside[0]}"


@pytest.mark.slow
def test_search_finds_words_of_the_pages(site: Path) -> None:
    index = (site / "searchindex.js").read_text()
    for word in ("bursti", "percentil", "replay"):  # the index holds word stems
        assert word in index


def test_command_reference_is_the_one_of_the_program() -> None:
    generator = [sys.executable, "-m", "typer", "mead.cli", "utils", "docs", "--name", "mead", "--title", "Commands"]
    fresh = subprocess.run(generator, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    written = (ROOT / "docs/reference/commands.md").read_text()
    assert written.strip() == fresh.strip(), "docs/reference/commands.md is out of date: run `make docs`"
