"""Pre-commit, the workflow of a public forge and `.ci/run` check the same as the Makefile."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml
from tests.paths import ROOT

LINT = re.compile(r"^lint:.*\n((?:\t.*\n)+)", re.MULTILINE)


def read(name: str) -> Any:
    return yaml.safe_load((ROOT / name).read_text())


@pytest.fixture(scope="module")
def workflow() -> Any:
    return read(".github/workflows/ci.yml")


def commands(job: dict[str, Any]) -> list[str]:
    return [step["run"] for step in job["steps"] if "run" in step]


def test_pre_commit_runs_the_commands_of_make_lint() -> None:
    recipe = LINT.search((ROOT / "Makefile").read_text())
    assert recipe
    expected = [
        line.removeprefix("\t@").replace("$(RUN)", ".venv/bin/python").replace("$(VENV)", ".venv").removesuffix(" .")
        for line in recipe[1].splitlines()
    ]
    hooks = [hook for repo in read(".pre-commit-config.yaml")["repos"] for hook in repo["hooks"]]
    assert [hook["entry"].removesuffix(" --force-exclude") for hook in hooks] == expected
    assert all(hook["language"] == "system" for hook in hooks)


def test_the_workflow_lints_and_tests_on_two_versions_of_python(workflow: Any) -> None:
    job = workflow["jobs"]["test"]
    assert job["strategy"]["matrix"]["python"] == ["3.11", "3.12"]
    assert commands(job) == ["make lint", "make test"]


def test_the_workflow_runs_the_slow_tests_at_night(workflow: Any) -> None:
    triggers = workflow[True]  # YAML reads the key `on` as true
    assert triggers["schedule"]
    assert "schedule" in workflow["jobs"]["test-slow"]["if"]
    assert commands(workflow["jobs"]["test-slow"]) == ["make test-slow"]


def test_continuous_integration_runs_everything() -> None:
    script = (ROOT / ".ci/run").read_text()
    assert re.findall(r"^make ([a-z-]+)", script, re.MULTILINE) == ["lint", "test", "test-slow"]


def test_the_citation_names_the_papers() -> None:
    found = read("CITATION.cff")
    assert {"cff-version", "message", "title", "authors"} <= found.keys()
    assert [paper["title"].partition(":")[0] for paper in found["references"]] == [
        "MEAD",
        "DRS",
        "PA-SPS",
        "Elastic-PPQ",
    ]
