"""The tables of the reference page, and what ``--help`` says of policies, made from the typed keys.

Each has key, type and unit, default, meaning. ``python -m mead.config.reference PAGE`` writes them into a page,
between its two marks.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from mead.config.operator_keys import BatchKeys, GroupingKeys, OperatorKeys, ReplicasKeys
from mead.config.pipeline_file import PipelineKeys, RequirementKeys
from mead.config.source_keys import (
    GenerateKeys,
    PayloadKeys,
    RabbitMQKeys,
    RabbitMQStreamsKeys,
    SourceKeys,
    StreamsKeys,
    TraceKeys,
)
from mead.policies import OWN, PolicyOptions, policies

BEGIN, END = "<!-- keys: begin, made by `make docs` -->", "<!-- keys: end -->"

SECTIONS: Mapping[str, type[BaseModel]] = {
    "The pipeline": PipelineKeys,
    "An operator": OperatorKeys,
    "replicas": ReplicasKeys,
    "batch": BatchKeys,
    "grouping": GroupingKeys,
    "A requirement": RequirementKeys,
    "source": SourceKeys,
    "source trace": TraceKeys,
    "source generate": GenerateKeys,
    "payload": PayloadKeys,
    "source rabbitmq": RabbitMQKeys,
    "streams": StreamsKeys,
    "streams rabbitmq": RabbitMQStreamsKeys,
}
UNITS = {"_per_s": "1/s", "_s": "s"}
"""Units by the ending of a key."""

WORDS = {
    "string": "text",
    "boolean": "true or false",
    "integer": "whole number",
    "number": "number",
    "object": "mapping",
}


def tables() -> str:
    """All tables in Markdown."""
    parts = [part for title, kind in SECTIONS.items() for part in _section(f"### {title}", kind)]
    parts += ["### A policy\n", "Its `name` is one of those below; the other keys are its options.\n"]
    parts += [part for name, kind in policies().items() for part in _section(f"#### {name}", kind)]
    return "\n".join(parts)


def policy_help() -> str:
    """The options of all policies as lists in Markdown. Policies with the same options share one."""
    groups: dict[str, list[str]] = {}
    for name, kind in policies().items():
        options = [
            f"* `{key}`: {meaning} ({kind_of_value}; default {default})"
            for key, kind_of_value, default, meaning in _rows(kind)
        ]
        groups.setdefault("\n".join(options) or "* as its class takes them", []).append(name)
    return "\n\n".join(
        [
            "Options of the policies, as they stand in a pipeline file and in `--option`:",
            *(f"**{', '.join(names)}**\n\n{options}" for options, names in groups.items()),
        ]
    )


def with_tables(page: str) -> str:
    """A page with the tables as they are now."""
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n\n{tables()}\n{END}{after}"


def _section(heading: str, kind: type[BaseModel]) -> Iterator[str]:
    yield f"{heading}\n"
    yield f"{' '.join((kind.__doc__ or '').split())}\n"
    rows = list(_rows(kind))
    if not rows:
        return
    yield "| key | type and unit | default | meaning |"
    yield "|---|---|---|---|"
    for key, *cells in rows:
        yield f"| `{key}` | {' | '.join(cells)} |"
    yield ""


def _rows(kind: type[BaseModel]) -> Iterator[tuple[str, str, str, str]]:
    """Key, type and unit, default, meaning."""
    schema = kind.model_json_schema()
    required = schema.get("required", [])
    for key, entry in schema["properties"].items():
        if "const" not in entry and entry.get("default") != OWN:  # by which a policy is chosen
            yield _row(key, entry, "required" if key in required else _default(entry.get("default")))
    if isinstance(schema.get("additionalProperties"), dict):
        yield _row("pNN_s", schema["additionalProperties"], "")


def _row(key: str, entry: Mapping[str, Any], default: str) -> tuple[str, str, str, str]:
    unit = next((unit for ending, unit in UNITS.items() if key.endswith(ending)), "")
    meaning, _, otherwise = entry.get("description", "").partition("; default ")
    kind = _kind(entry) + (f", {unit}" if unit else "")
    return key, kind, default or otherwise, meaning.removesuffix(f", {unit}")


def _default(value: object) -> str:
    """A value as it would stand in a file; nothing where the meaning says what then happens."""
    if isinstance(value, dict):
        value = value.get("name")
    if isinstance(value, list):
        return f"`[{', '.join(f'{entry:g}' for entry in value)}]`"
    if isinstance(value, float):
        return f"`{value:g}`"
    return "" if value is None else f"`{value}`".lower()


def _kind(entry: Mapping[str, Any], plural: str = "") -> str:
    """A type in words, with its bounds."""
    entry = next((one for one in entry.get("anyOf", ()) if one.get("type") != "null"), entry)
    if "$ref" in entry:
        name = entry["$ref"].rpartition("/")[2]
        sections: dict[str, type[BaseModel]] = {**SECTIONS, "A policy": PolicyOptions}
        title = next(title for title, kind in sections.items() if kind.__name__ == name)
        return f"keys, see [{title.lower()}](#{title.lower().replace(' ', '-')})"
    if "enum" in entry:
        return " or ".join(f"`{value}`" for value in entry["enum"])
    if "prefixItems" in entry:
        return f"[{', '.join(_kind(item) for item in entry['prefixItems'])}]"
    if entry["type"] == "array":
        return f"list of {_kind(entry['items'], plural='s')}"
    return f"{WORDS[entry['type']]}{plural}{_bounds(entry)}"


def _bounds(entry: Mapping[str, Any]) -> str:
    signs = {"exclusiveMinimum": ">", "minimum": "≥", "maximum": "≤"}
    return ",".join(f" {sign} {entry[bound]:,.10g}" for bound, sign in signs.items() if bound in entry)


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.write_text(with_tables(target.read_text()))
