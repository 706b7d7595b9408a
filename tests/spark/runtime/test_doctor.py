"""What the doctor finds. Everything is real but what is missing: that is made so."""

from __future__ import annotations

import os
import shutil
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest

from mead.spark.runtime import doctor
from mead.spark.runtime.doctor import (
    Check,
    broker_check,
    cores_check,
    disk_check,
    java_check,
    memory_check,
    python_check,
    run_checks,
    spark_check,
)
from mead.spark.runtime.trial import TrialError, try_spark

NO_JAVA = {"PATH": ""}


def test_a_machine_without_java_is_told_what_to_type() -> None:
    java = java_check(NO_JAVA)
    assert java.status == "missing"
    assert java.remedy.endswith("install -y openjdk-17-jre-headless")
    spark = spark_check(NO_JAVA, java)
    assert (spark.status, spark.remedy) == ("missing", java.remedy)


def test_a_java_home_that_leads_nowhere_is_named(tmp_path: Path) -> None:
    java = java_check({"JAVA_HOME": str(tmp_path)})
    assert java.status == "missing"
    assert f"{tmp_path}/bin/java does not run" in java.found
    assert java.remedy.startswith(f"unset JAVA_HOME (it is {tmp_path}), and ")


def test_a_job_that_fails_says_why() -> None:
    with pytest.raises(TrialError, match="JAVA_GATEWAY_EXITED"):
        try_spark({"PATH": "", "JAVA_HOME": "/nowhere"})


def test_a_small_job_runs() -> None:
    trial = try_spark()
    assert trial.version.startswith("4.")
    assert trial.start_s > 0
    assert trial.job_s > 0


def test_an_old_python_is_refused() -> None:
    assert python_check((3, 10, 14)).status == "missing"
    assert python_check().found.endswith(f"({sys.executable})")


@pytest.mark.parametrize(("free_kb", "status"), [(4_000_000, "ok"), (1_000_000, "missing")])
def test_memory_is_what_could_be_had_now(tmp_path: Path, free_kb: int, status: str) -> None:
    meminfo = tmp_path / "meminfo"
    meminfo.write_text(f"MemTotal:       8000000 kB\nMemFree:          10 kB\nMemAvailable:    {free_kb} kB\n")
    assert memory_check(meminfo).status == status


@pytest.fixture
def macos(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """As much of a machine without Linux as can be had here: nothing is told of it, and only Homebrew installs."""
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(shutil, "which", lambda program, **_: "/opt/homebrew/bin/brew" if program == "brew" else None)
    return tmp_path / "no-such-folder"


def test_where_the_system_tells_nothing_of_itself_all_checks_are_done(macos: Path, tmp_path: Path) -> None:
    found = {check.name: check for check in run_checks(NO_JAVA, tmp_path, macos)}
    assert list(found) == ["Python", "Java", "Spark", "CPU shares", "cores", "memory", "disk", "RabbitMQ"]
    assert found["Java"].remedy == "brew install openjdk@17"
    assert found["CPU shares"].status == "optional"
    assert found["CPU shares"].remedy == "run on Linux, with /sys/fs/cgroup mounted"
    assert found["cores"].found.startswith(f"{os.cpu_count()}")
    assert found["memory"].found.endswith(" GB; the free part is unknown")
    if found["RabbitMQ"].status != "ok":
        assert found["RabbitMQ"].remedy == "brew install rabbitmq && rabbitmq-server -detached"


def test_too_little_memory_is_too_little_however_much_of_it_is_free(
    macos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "NEEDED_MEMORY_GB", 1e6)
    assert memory_check(macos).status == "missing"


def test_cores_are_those_that_this_process_may_use() -> None:
    if hasattr(os, "sched_getaffinity"):
        assert cores_check().found.startswith(f"{len(os.sched_getaffinity(0))}")


def test_disk_is_that_of_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert disk_check(tmp_path).found.endswith(f"free in {tmp_path}")
    monkeypatch.setattr(doctor, "NEEDED_DISK_GB", 1e9)
    assert disk_check(tmp_path).status == "missing"


@contextmanager
def server(answer: bytes) -> Iterator[int]:
    """Whoever comes first is given this answer."""
    with socket.create_server(("localhost", 0)) as listening:

        def serve() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(8)
                connection.sendall(answer)

        thread = Thread(target=serve)
        thread.start()
        yield listening.getsockname()[1]
        thread.join()


def test_a_broker_is_known_by_what_it_says() -> None:
    with server(b"\x01\x00\x00\x00\x00\x01\xf3") as port:
        assert broker_check(port=port) == Check("RabbitMQ", "ok", f"answers at localhost:{port}")
    with server(b"HTTP/1.1 400 Bad Request\r\n") as port:
        assert "something else answers" in broker_check(port=port).found


def test_no_broker_is_no_fault() -> None:
    with socket.create_server(("localhost", 0)) as listening:
        port = listening.getsockname()[1]
    check = broker_check(port=port)
    assert check.status == "optional"
    assert "Connection refused" in check.found
    assert "rabbitmq-server" in check.remedy
