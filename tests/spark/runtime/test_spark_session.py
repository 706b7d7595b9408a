"""A local session is closed to other machines and other users."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.listening import descendants, listening_tcp, listening_unix
from tests.programs import program
from tests.waiting import PATIENCE_S


@dataclass
class Started:
    """The program of tests/spark/runtime/open_session.py."""

    process: subprocess.Popen[str]
    authenticates: bool
    encrypts: bool

    @property
    def pids(self) -> set[int]:
        return descendants(self.process.pid)


@contextmanager
def started(temporary: Path, master: str = "local[2]", **environment: str) -> Iterator[Started]:
    """It and all that it has started are gone afterwards. The temporary folder may have a long name."""
    pipe, environment = subprocess.PIPE, {**os.environ, "TMPDIR": str(temporary), **environment}
    command = program("tests.spark.runtime.open_session", master)
    with subprocess.Popen(
        command, start_new_session=True, stdin=pipe, stdout=pipe, text=True, env=environment
    ) as process:
        try:
            assert process.stdout is not None
            rows, *settings = process.stdout.readline().split()
            assert rows == "1"
            yield Started(process, *(setting == "true" for setting in settings))
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


def wait_until_gone(folder: Path) -> None:
    until_s = time.monotonic() + PATIENCE_S
    while folder.exists():
        assert time.monotonic() < until_s, f"left behind: {list(folder.iterdir())}"
        time.sleep(0.05)


def socket_folder(sockets: list[Path]) -> Path:
    """Of accumulators, the planner and workers: at least three."""
    assert len(sockets) >= 3
    (folder,) = {socket.parent for socket in sockets}
    return folder


@pytest.mark.spark
def test_a_local_session_listens_on_loopback_only_and_its_sockets_are_private(tmp_path: Path) -> None:
    with started(tmp_path) as session:
        assert session.authenticates
        ports = listening_tcp(session.pids)
        assert len(ports) >= 3, "the gateway, the driver and its block manager"
        assert {port: str(address) for port, address in ports.items() if not address.is_loopback} == {}
        folder = socket_folder(listening_unix(session.pids))
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        session.process.communicate(timeout=PATIENCE_S)
        assert session.process.returncode == 0
        wait_until_gone(folder)


@pytest.mark.slow
@pytest.mark.spark
def test_the_folder_of_sockets_is_removed_after_the_driver_was_killed(tmp_path: Path) -> None:
    with started(tmp_path) as session:
        folder = socket_folder(listening_unix(session.pids))
        session.process.kill()
        wait_until_gone(folder)


@pytest.mark.slow
@pytest.mark.spark
def test_a_cluster_takes_its_secret_from_the_users_settings(tmp_path: Path) -> None:
    """As docs/how-to/run-on-my-cluster.md says. The job runs in an executor, which knows the secret too."""
    (tmp_path / "spark-defaults.conf").write_text(
        "spark.authenticate true\nspark.network.crypto.enabled true\nspark.authenticate.secret a-long-random-text\n"
    )
    with started(tmp_path, "local-cluster[1,1,1024]", SPARK_CONF_DIR=str(tmp_path)) as session:
        assert (session.authenticates, session.encrypts) == (True, True)
