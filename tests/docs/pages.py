"""The pages of the documentation, and the blocks of code in them."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from tests.paths import ROOT

COMMANDS = ROOT / "docs/reference/commands.md"
"""Made from the program, and compared with it in test_site. What stands there is help, not something to follow."""

ALL_PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES = [page for page in ALL_PAGES if page != COMMANDS]

FENCE = re.compile(r"^(?P<indent> *)```(?P<info>[^\n`]*)\n(?P<text>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL)

SECOND_TERMINAL = "second-terminal"
"""Marks a block that is typed elsewhere while the last command before it runs."""

TAKES_MINUTES = "takes-minutes"
UNTRIED = {"needs-cluster", "needs-kafka", "needs-query", TAKES_MINUTES}
"""Marks of blocks that no test run can execute as they stand, each by what it would take."""

SHORTER = {
    "python -m experiments mead-table1 ": "--duration 70",
    "mead run ": "--duration 5",
    "mead evaluate ": "--duration 5",
    "python -m experiments arena ": "--seeds 1 --duration 60 --no-bounds --policy static",
}
"""By how a command begins, options that make it short: of an option that is given twice, the second counts."""

THEIRS = {"bc=FILE": "arrivals.npy", "logs=FILE": "counts.csv"}
"""Where a reader names a file of theirs, and what it is called in a test run."""


@dataclass(frozen=True)
class Snippet:
    """A block of code: ``language`` and ``mark`` are the first and the second word behind its three ticks."""

    language: str
    mark: str
    text: str
    place: str


def shortened(snippet: Snippet, place: Path = Path()) -> Snippet | None:
    """What takes minutes as it stands, made short; None if it cannot be. ``place`` is where a reader has their files.

    >>> long = Snippet("console", TAKES_MINUTES, "$ python -m experiments mead-table1 --only lm\\n", "page.md:1")
    >>> short = shortened(long)
    >>> short.mark, short.text
    ('', '$ python -m experiments mead-table1 --only lm --duration 70\\n')
    """
    if snippet.language != "console" or snippet.mark != TAKES_MINUTES:
        return None
    lines = []
    for line in snippet.text.splitlines():
        options = next((more for begins, more in SHORTER.items() if line.startswith(f"$ {begins}")), None)
        if options is None:
            return None
        for shown, name in THEIRS.items():
            line = line.replace(shown, f"{shown.removesuffix('FILE')}{place / name}")  # noqa: PLW2901
        lines.append(f"{line} {options}\n")
    return replace(snippet, mark="", text="".join(lines))


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
