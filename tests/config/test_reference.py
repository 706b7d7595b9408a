"""The tables of the reference page say what the typed keys say."""

from __future__ import annotations

from tests.paths import ROOT

from mead.config import OperatorKeys, PipelineKeys
from mead.config.reference import policy_help, tables, with_tables
from mead.policies import policies

PAGE = ROOT / "docs/reference/pipeline-file.md"


def test_the_page_is_up_to_date() -> None:
    page = PAGE.read_text()
    assert page == with_tables(page), "docs/reference/pipeline-file.md is out of date: run `make docs`"


def test_every_key_of_every_policy_has_a_row_with_a_meaning() -> None:
    sections = {part.splitlines()[0]: part for part in tables().split("\n#### ")[1:]}
    assert list(sections) == list(policies())
    for name, kind in policies().items():
        rows = {line.split("`")[1]: line.split(" | ") for line in sections[name].splitlines() if line.startswith("| `")}
        assert rows.keys() == kind.model_fields.keys() - {"name"}
        assert all(len(cells) == 4 and cells[3].strip(" |") for cells in rows.values())


def test_rows_show_type_unit_bounds_and_default() -> None:
    rows = tables().splitlines()
    assert "| `demand_s` | number > 0, s | required | CPU seconds that one tuple costs at full share |" in rows
    assert "| `best` | whole number ≥ 1, ≤ 20 | `5` | number of MAPs of every window |" in rows
    assert any(
        row.startswith("| `windows` | list of whole numbers ≥ 100, ≤ 10,000,000 | `[50000, 25000]`") for row in rows
    )
    assert any(row.startswith("| `scv` | number ≥ 0, ≤ 1,000,000 | 0.5 |") for row in rows)
    assert any(row.startswith("| `pNN_s` | number > 0, s |") for row in rows)
    assert any(row.startswith("| `batch` | keys, see [batch](#batch) | tuple by tuple |") for row in rows)


def test_help_has_every_option_of_every_policy_once_per_group() -> None:
    groups = policy_help().split("\n\n**")[1:]
    listed = {
        name: {line.split("`")[1] for line in options.splitlines() if line.startswith("* `")}
        for names, _, options in (group.partition("**") for group in groups)
        for name in names.split(", ")
    }
    assert listed == {name: kind.model_fields.keys() - {"name"} for name, kind in policies().items()}


def test_help_says_meaning_type_unit_and_default() -> None:
    lines = policy_help().splitlines()
    assert "* `catch_up_s`: time in which a backlog should be cleared (number > 0, s; default `300`)" in lines
    assert "* `best`: number of MAPs of every window (whole number ≥ 1, ≤ 20; default `5`)" in lines


def test_every_key_is_described() -> None:
    for kind in (PipelineKeys, OperatorKeys):
        assert all(field.description for field in kind.model_fields.values())
