"""YAML as plain values, with the line on which every key stands.

Scalars are read as YAML 1.2's core schema has them: ``1e-4`` is a number and ``no`` is a word, unlike in the older
schema that PyYAML follows by default. Anchors and aliases work within reason; tags do not, for nothing here needs
them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, TypeAlias

import yaml

from mead.keys import ConfigError, KeyPath, shown

Plain: TypeAlias = "dict[str, Plain] | list[Plain] | str | int | float | bool | None"

MOST_BYTES = 256 * 1024
"""More than any file needs, and read within seconds."""

MOST_VALUES = 50_000
"""Aliases count as often as they are used, so that a few lines cannot stand for billions of values."""

MOST_LEVELS = 20
"""The deepest nesting. Deeper values refer to themselves, or belong to another program."""


class LineError(ConfigError):
    """A mistake at a known line."""

    def __init__(self, line: int, complaint: str, location: KeyPath = ()) -> None:
        super().__init__(complaint, location)
        self.line = line


@dataclass(frozen=True)
class Document:
    """The values of a file, and their lines."""

    value: Plain
    lines: dict[KeyPath, int]
    """By key path, counted from 1."""

    def line(self, location: KeyPath) -> int:
        """The line of a key, or of the innermost part around it that is there."""
        while location not in self.lines:
            location = location[:-1]
        return self.lines[location]


class _CoreLoader(yaml.SafeLoader):
    """Resolves plain scalars as YAML 1.2's core schema does."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 - PyYAML adds to it per class


for _tag, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?[0-9]+", list("-+0123456789")),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", list("-+.0123456789")),
    ("float", r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)", list("-+.")),
):
    _CoreLoader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"^(?:{_pattern})$"), _first)


def read_yaml(text: bytes) -> Document:
    r"""The one document of a file. Raises LineError for anything that is not plain YAML of reasonable size.

    >>> document = read_yaml(b"name: tandem\noperators:\n  - {name: a, demand_s: 1e-4}")
    >>> document.value["operators"]
    [{'name': 'a', 'demand_s': 0.0001}]
    >>> document.line(("operators", 0, "demand_s"))
    3
    """
    if len(text) > MOST_BYTES:
        raise LineError(1, f"the file has {len(text):,} bytes; {MOST_BYTES:,} are the most that are read")
    decoded = _decoded(text)
    try:
        root = yaml.compose(decoded, _CoreLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise LineError(mark.line + 1 if mark else 1, f"not YAML: {_said(error)}") from error
    except yaml.reader.ReaderError as error:
        character = f"#x{error.character:x}" if isinstance(error.character, int) else repr(error.character)
        raise LineError(
            decoded.count("\n", 0, error.position) + 1, f"not YAML: the character {character} is not allowed"
        ) from error
    except RecursionError as error:
        raise LineError(1, f"values are nested more than {MOST_LEVELS} levels deep") from error
    except (ValueError, OverflowError) as error:  # an escape such as "\\UFFFFFFFF" that names no character
        raise LineError(1, f"not YAML: {error}") from error
    if root is None:
        raise LineError(1, "the file is empty")
    reader = _Reader()
    return Document(reader.plain(root, ()), reader.lines)


def _decoded(text: bytes) -> str:
    try:
        return text.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + 1
        raise LineError(line, f"not UTF-8: byte 0x{text[error.start]:02x}; save the file in UTF-8") from error


def _said(error: yaml.MarkedYAMLError) -> str:
    problem = " ".join(str(error.problem or error.context).split())
    if "'\\t'" in problem:
        return "tabs cannot indent; use spaces"
    if error.context and error.problem:
        return f"{problem} {error.context}"
    return problem


class _Reader:
    """Turns nodes into plain values and remembers their lines."""

    def __init__(self) -> None:
        self.lines: dict[KeyPath, int] = {}
        self.count = 0

    def plain(self, node: yaml.Node, location: KeyPath, line: int | None = None) -> Plain:
        """The value of a node; its line is that of its key, if it has one."""
        line = self.lines[location] = node.start_mark.line + 1 if line is None else line
        self.count += 1
        if self.count > MOST_VALUES:
            raise LineError(line, f"the file stands for more than {MOST_VALUES:,} values; leave out aliases")
        if len(location) > MOST_LEVELS:
            raise LineError(line, f"values are nested more than {MOST_LEVELS} levels deep")
        kind = node.tag.removeprefix("tag:yaml.org,2002:")
        if isinstance(node, yaml.MappingNode) and kind == "map":
            return self._mapping(node, location)
        if isinstance(node, yaml.SequenceNode) and kind == "seq":
            return [self.plain(item, (*location, place)) for place, item in enumerate(node.value)]
        if isinstance(node, yaml.ScalarNode):
            return _scalar(kind, node.value, line, location)
        raise LineError(line, f"unknown tag {node.tag}; remove it", location)

    def _mapping(self, node: yaml.MappingNode, location: KeyPath) -> Plain:
        values: dict[str, Plain] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                raise LineError(line, "a key must be a word", location)
            key = _text(key_node.value, line, location)
            if key in values:
                first = self.lines[*location, key]
                where = "on this line" if first == line else f"on line {first}"
                raise LineError(line, f"duplicate key, first {where}", (*location, key))
            values[key] = self.plain(value_node, (*location, key), line)
        return values


def _scalar(kind: str, text: str, line: int, location: KeyPath) -> Plain:
    if kind == "str":
        return _text(text, line, location)
    try:
        match kind:
            case "null":
                return None
            case "bool":
                return {"true": True, "false": False}[text.lower()]
            case "int":
                return int(text)
            case "float":
                return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
    except (ValueError, KeyError):
        raise LineError(line, f"cannot be read as a value of type {kind}: {shown(text)}", location) from None
    raise LineError(line, f"unknown tag !{kind}; remove it", location)


def _text(text: str, line: int, location: KeyPath) -> str:
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise LineError(line, "half of a surrogate pair is no character", location) from None
    return text
