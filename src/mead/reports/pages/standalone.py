"""An HTML page in one file, with styles, scripts and data inside.

It opens from a disk or a mail attachment.

The scripts are the modules of the live page, read from ``mead/web/static``. The page has an import map from their names
to their text.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import Any

STATIC = Path(__file__).parents[2] / "web" / "static"
STYLES = ("vendor/uplot/uPlot.min.css", "page.css")
IMPORTED = re.compile(r'(?<=from ")\./(?P<file>[\w./-]+\.js)(?=";)')

PAGE = Template("""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>$title</title>
<style>$styles
main h2.part { font-size: 1.1rem; margin: 1.6rem 0 .6rem; } main > p { max-width: 60rem; overflow-wrap: anywhere; }
caption { text-align: left; font-weight: 600; padding-bottom: .2rem; } td.no { color: var(--bad); font-weight: 600; }
</style>
<script type="importmap">$imports</script></head><body>
<header><div class="title"><h1>$title</h1><p id="facts">$facts</p></div>
<div class="state"><button id="theme" type="button" aria-pressed="false">Dark</button></div></header>
<main>
$parts
<noscript><p>The charts need JavaScript. The text above does not.</p></noscript>
</main>
<script type="application/json" id="numbers">$numbers</script>
<script type="module">import "$start";</script>
</body></html>
""")


def standalone_page(title: str, facts: str, parts: Sequence[str], numbers: dict[str, Any], start: str) -> str:
    """A page with these parts; the module ``start`` draws the charts from the numbers."""
    modules = _modules(start)
    return PAGE.substitute(
        title=escape(title),
        facts=escape(facts),
        styles="\n".join((STATIC / name).read_text() for name in STYLES),
        imports=json.dumps({"imports": {f"mead/{name}": _address(text) for name, text in modules.items()}}),
        parts="\n".join(parts),
        # A name in the data must not end the element.
        numbers=json.dumps(numbers, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c"),
        start=f"mead/{start}",
    )


def _modules(start: str) -> dict[str, str]:
    """A module and its imports, by path below ``static``."""
    found: dict[str, str] = {}
    waiting = [start]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        text = (STATIC / name).read_text()
        waiting += [match["file"] for match in IMPORTED.finditer(text)]
        found[name] = IMPORTED.sub(lambda match: f"mead/{match['file']}", text)
    return found


def _address(text: str) -> str:
    return f"data:text/javascript;base64,{b64encode(text.encode()).decode()}"


def html_table(title: str, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table with a caption. Cells with the text NO are highlighted."""
    head = "".join(f'<th scope="col">{escape(heading)}</th>' for heading in headings)
    body = "".join("<tr>" + "".join(_cell(cell) for cell in row) + "</tr>" for row in rows)
    caption = f"<caption>{escape(title)}</caption>"
    return f'<div class="card scroll"><table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _cell(text: str) -> str:
    return f'<td class="no">{text}</td>' if text == "NO" else f"<td>{escape(text)}</td>"
