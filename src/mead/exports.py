"""Names that a room exports and loads on first use.

Spark's Python workers import single modules of a room and must stay light, so such a room imports nothing by itself.
Its ``__init__`` lists its exports once, under ``if TYPE_CHECKING``, where type checkers and editors read them too.
"""

from __future__ import annotations

import ast
import sys
from functools import cache
from importlib import import_module
from pathlib import Path


def load_export(room: str, name: str) -> object:
    """Import a name that the ``__init__`` of a room lists, and keep it there.

    >>> load_export("mead", "Pipeline").__module__
    'mead.values.pipeline'
    >>> load_export("mead", "Pipelime")
    Traceback (most recent call last):
        ...
    AttributeError: module 'mead' has no attribute 'Pipelime'
    """
    module = _exports(room).get(name)
    if module is None:
        raise AttributeError(f"module {room!r} has no attribute {name!r}")
    found = getattr(import_module(module), name)
    setattr(sys.modules[room], name, found)
    return found


@cache
def _exports(room: str) -> dict[str, str]:
    """The module of every name that is imported under ``if TYPE_CHECKING``."""
    source = sys.modules[room].__file__
    if source is None:
        return {}
    blocks = [node for node in ast.parse(Path(source).read_bytes()).body if isinstance(node, ast.If)]
    imports = [line for block in blocks for line in block.body if isinstance(line, ast.ImportFrom)]
    return {alias.name: line.module or "" for line in imports for alias in line.names}
