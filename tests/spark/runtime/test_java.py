from __future__ import annotations

from pathlib import Path

import pytest

from mead.spark.runtime.java import Java, find_java


def java_that_says(path: Path, *lines: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(("#!/bin/sh", *(f"echo '{line}' >&2" for line in lines), "")))
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("first_line", "version"),
    [
        ('openjdk version "17.0.9" 2023-10-17', 17),
        ('openjdk version "25" 2025-09-16', 25),
        ('java version "1.8.0_392"', 8),
        ("Error: could not find libjava.so", None),
    ],
)
def test_the_version_is_what_the_program_says(tmp_path: Path, first_line: str, version: int | None) -> None:
    path = java_that_says(tmp_path / "java", first_line, "OpenJDK Runtime Environment")
    java = find_java({"PATH": str(tmp_path)})
    assert java == Java(path, version)
    assert java.new_enough == (version in {17, 25})


def test_java_home_comes_before_the_path_as_for_spark(tmp_path: Path) -> None:
    java_that_says(tmp_path / "java", 'openjdk version "17.0.9"')
    home = java_that_says(tmp_path / "old/bin/java", 'java version "1.8.0_392"')
    assert find_java({"PATH": str(tmp_path), "JAVA_HOME": f"{tmp_path}/old"}) == Java(home, 8)


def test_a_program_that_cannot_be_started_has_no_version(tmp_path: Path) -> None:
    java = find_java({"PATH": "", "JAVA_HOME": str(tmp_path)})
    assert java is not None
    assert not java.new_enough


@pytest.mark.parametrize("environment", [{}, {"PATH": ""}, {"PATH": "/nowhere"}])
def test_no_java_is_none(environment: dict[str, str]) -> None:
    assert find_java(environment) is None
