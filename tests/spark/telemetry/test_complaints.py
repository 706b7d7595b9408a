"""From workers to the driver: every complaint is told once, and counted as often as it comes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mead.spark.runtime.worker_daemon import join_cgroup
from mead.spark.telemetry.complaints import Complaints, complain

WORKER = "import sys; from mead.spark.telemetry.complaints import complain; complain(sys.argv[2], sys.argv[1], 3)"


@pytest.fixture
def complaints(tmp_path: Path) -> Complaints:
    made = Complaints(tmp_path / "complaints")
    made.open()
    return made


def test_workers_in_processes_of_their_own_are_heard_once_and_counted(complaints: Complaints) -> None:
    assert complaints.new() == []
    for text in ("no time in a header", "no time in a header", "no limit"):
        subprocess.run([sys.executable, "-c", WORKER, complaints.folder, text], check=True, capture_output=True)
    assert sorted(complaints.new()) == ["no limit", "no time in a header"]
    assert complaints.counts == {"no time in a header": 6, "no limit": 3}
    complain("no limit", str(complaints.folder))
    assert complaints.new() == []
    assert complaints.counts["no limit"] == 4


def test_standard_error_has_each_once_and_standard_output_nothing(
    complaints: Complaints, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(3):
        complain(f"something is wrong in {complaints.folder}", str(complaints.folder))
    assert capsys.readouterr() == ("", f"something is wrong in {complaints.folder}\n")


def test_what_a_run_before_has_left_is_not_told_again(complaints: Complaints) -> None:
    complain("of yesterday", str(complaints.folder))
    again = Complaints(complaints.folder)
    again.open()
    assert again.new() == []


def test_where_nobody_listens_nothing_fails(tmp_path: Path) -> None:
    complain("a complaint", str(tmp_path / "elsewhere"))
    assert Complaints(tmp_path / "elsewhere").new() == []


def test_a_daemon_that_cannot_join_its_group_says_so(
    complaints: Complaints, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEAD_COMPLAINTS", str(complaints.folder))
    join_cgroup(f"{tmp_path / 'cpu' / 'op-matcher'}{os.pathsep}{tmp_path / 'cpuacct' / 'op-matcher'}")
    told = complaints.new()
    assert len(told) == 2
    assert all(one.startswith("Python workers run without their CPU limit: cannot join ") for one in told)
    assert all("op-matcher: No such file or directory" in one for one in told)


def test_a_daemon_loads_next_to_nothing_before_it_joins() -> None:
    load = "import mead.spark.telemetry.complaints"
    loaded = f"import sys; before = set(sys.modules); {load}; print(set(sys.modules) - before)"
    done = subprocess.run([sys.executable, "-c", loaded], check=True, capture_output=True, text=True)
    new = {name for name in eval(done.stdout) if not name.startswith(("mead", "__"))}  # noqa: S307 - of our own making
    assert new == set()
