from __future__ import annotations

from collections import Counter
from io import StringIO

import pytest
from rich.console import Console

from mead.reports.tables import plain_table


@pytest.mark.parametrize("columns", [2, 5, 8, 10])
def test_on_a_narrow_terminal_no_name_and_no_number_is_cut(columns: int) -> None:
    headings = ["operator", *(f"heading {place} of it" for place in range(columns))]
    rows = [[name, *["12,345.678 ±0.001"] * columns] for name in ("matcher", "a-parser-of-many-lines")]
    table = plain_table("title", *headings)
    for row in rows:
        table.add_row(*row)
    printed = StringIO()
    Console(file=printed, width=80).print(table)
    assert max(map(len, printed.getvalue().splitlines())) <= 80
    shown = Counter("".join(printed.getvalue().replace("─", "").split()))
    assert shown == Counter("".join(["title", *headings, *(cell for row in rows for cell in row)]).replace(" ", ""))
