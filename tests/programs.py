"""Programs among the tests, which a test starts as processes of their own."""

from __future__ import annotations

import sys
from pathlib import Path

TESTS = Path(__file__).parent

LAUNCH = """
import runpy, sys, types

tests = sys.modules["tests"] = types.ModuleType("tests")
tests.__path__ = [sys.argv.pop(1)]
runpy.run_module(sys.argv.pop(1), run_name="__main__")
"""
"""Python would take another package of that name for ours, if one is installed: ours is only a folder."""


def program(module: str, *words: object) -> list[str]:
    """The command that starts ``tests.…`` with these words behind it."""
    return [sys.executable, "-c", LAUNCH, str(TESTS), module, *map(str, words)]
