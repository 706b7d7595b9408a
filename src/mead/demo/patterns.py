r"""Read a file of patterns: one named regular expression per line.

::

    # payments
    payment-declined: payment \S+ of user \d+ declined
    slow-answer:      answered \d+ in (\d{4,}|[5-9]\d\d) ms

A line is a name, a colon and a regular expression of Python's ``re``; blanks around it are ignored. Empty lines and
lines that begin with ``#`` are comments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SHIPPED = Path(__file__).with_name("patterns.txt")


class PatternError(ValueError):
    """A file of patterns that cannot be used. The message names file and line."""


@dataclass(frozen=True)
class Pattern:
    """A named regular expression, searched for anywhere in a message."""

    name: str
    expression: re.Pattern[str]


def read_patterns(path: Path) -> tuple[Pattern, ...]:
    """All patterns of a file, in its order."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise PatternError(f"{path}: is not text in UTF-8 (byte {error.start + 1})") from None
    except OSError as error:
        raise PatternError(f"{path}: cannot be read ({error.strerror})") from None
    patterns: dict[str, Pattern] = {}
    for where, name, expression in _lines(path, text):
        if name in patterns:
            raise PatternError(f"{where}: there is a pattern {name} already; give this one another name")
        try:
            patterns[name] = Pattern(name, re.compile(expression))
        except (re.error, OverflowError, RecursionError) as error:
            raise PatternError(f"{where}: {name} is no regular expression: {error}") from None
    if not patterns:
        raise PatternError(f"{path}: has no pattern; write one as `name: regular expression`")
    return tuple(patterns.values())


def _lines(path: Path, text: str) -> Iterator[tuple[str, str, str]]:
    """Place, name and expression of every line that has them."""
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, colon, expression = (part.strip() for part in line.partition(":"))
        if not (name and colon and expression):
            raise PatternError(f"{path}, line {number}: expected `name: regular expression`, found {line.strip()!r}")
        yield f"{path}, line {number}", name, expression
