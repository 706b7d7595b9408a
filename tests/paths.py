"""Folders and files that several tests read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
DATA = ROOT.parent / "shared" / "data"
"""Recorded traces, beside the repository; a test that reads one is skipped where the folder is absent."""


def vectors(name: str) -> Any:
    """The content of a JSON file in ``tests/vectors``."""
    return json.loads((ROOT / "tests" / "vectors" / name).read_text())
