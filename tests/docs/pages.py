"""The pages of the documentation, and the blocks of code in them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
COMMANDS = ROOT / "docs/reference/commands.md"
"""Made from the program, and compared with it in test_site. What stands there is help, not something to follow."""

ALL_PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES = [page for page in ALL_PAGES if page != COMMANDS]

FENCE = re.compile(r"^(?P<indent> *)```(?P<info>[^\n`]*)\n(?P<text>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL)

SECOND_TERMINAL = "second-terminal"
"""Marks a block that is typed elsewhere while the last command before it runs."""

UNTRIED = {"needs-cluster", "needs-kafka", "takes-minutes"}
"""Marks of blocks that no test run can execute, each by what it would take."""


@dataclass(frozen=True)
class Snippet:
    """A block of code: ``language`` and ``mark`` are the first and the second word behind its three ticks."""

    language: str
    mark: str
    text: str
    place: str


def snippets(page: Path) -> list[Snippet]:
    source = page.read_text()
    found = []
    for fence in FENCE.finditer(source):
        language, _, mark = fence["info"].strip().partition(" ")
        text = "".join(line.removeprefix(fence["indent"]) for line in fence["text"].splitlines(keepends=True))
        line = source.count("\n", 0, fence.start()) + 1
        found.append(Snippet(language, mark, text, f"{page_name(page)}:{line}"))
    return found


def page_name(page: Path) -> str:
    return str(page.relative_to(ROOT))
