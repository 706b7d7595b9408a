"""Find the Java that Spark will use."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

NEEDED_VERSION = 17
ANSWER_S = 20
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')


@dataclass(frozen=True)
class Java:
    """A Java program and its version."""

    path: Path
    version: int | None
    """17 for 17.0.9, and 8 for 1.8; None if it does not run."""

    @property
    def new_enough(self) -> bool:
        """Whether Spark runs on it."""
        return self.version is not None and self.version >= NEEDED_VERSION


def find_java(environment: Mapping[str, str]) -> Java | None:
    """Find Java where Spark looks for it: in JAVA_HOME if that is set, or else on the path."""
    home = environment.get("JAVA_HOME")
    found = str(Path(home, "bin/java")) if home else shutil.which("java", path=environment.get("PATH", ""))
    if found is None:
        return None
    try:
        answer = subprocess.run(  # noqa: S603 - the program that Spark itself will start
            [found, "-version"], check=False, capture_output=True, text=True, timeout=ANSWER_S
        )
    except (OSError, subprocess.TimeoutExpired):
        return Java(Path(found), None)
    version = _VERSION.search(answer.stderr)
    return Java(Path(found), int(version[1]) if version else None)
