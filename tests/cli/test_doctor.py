from __future__ import annotations

import json

import pytest
from tests.cli.program import complaint, run


@pytest.fixture
def _no_java(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)


@pytest.mark.usefixtures("_no_java")
def test_a_machine_that_is_not_ready_is_code_1_and_one_document() -> None:
    result = run("doctor", "--json")
    assert result.exit_code == 1
    assert result.stderr == ""
    document = json.loads(result.stdout)
    assert document["ready"] is False
    found = {check["name"]: check for check in document["checks"]}
    assert set(found) == {"Python", "Java", "Spark", "CPU shares", "cores", "memory", "disk", "RabbitMQ"}
    assert all(set(check) == {"name", "status", "found", "remedy"} for check in found.values())
    assert found["Python"]["status"] == "ok"
    assert found["Java"]["status"] == found["Spark"]["status"] == "missing"
    assert all(check["remedy"] for check in found.values() if check["status"] != "ok")


@pytest.mark.usefixtures("_no_java")
def test_every_line_begins_with_its_status_and_what_to_type_comes_below() -> None:
    result = run("doctor", columns=40)
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    java = next(number for number, line in enumerate(lines) if line.split()[:2] == ["missing", "Java"])
    assert lines[java + 1].strip().endswith("apt-get install -y openjdk-17-jre-headless")
    assert {line.split()[0] for line in lines if not line.startswith(" ")} <= {"ok", "missing", "optional"}


def test_a_folder_that_is_not_there_is_named() -> None:
    assert complaint("doctor", "--folder", "/nowhere") == ("mead doctor: /nowhere: no such folder; create it first")
