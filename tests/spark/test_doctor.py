"""What the doctor finds. Everything is real but what is missing: that is made so."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest

from mead.spark import doctor
from mead.spark.doctor import Check, broker_check, disk_check, java_check, memory_check, python_check, spark_check
from mead.spark.trial import TrialError, try_spark

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
