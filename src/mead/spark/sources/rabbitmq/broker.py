"""A private RabbitMQ broker on this machine, for tests and trials."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep
from types import TracebackType
from typing import Self

from mead.spark.sources.rabbitmq.connection import Connection, RabbitError, UnreachableError

SERVERS = (Path("/usr/lib/rabbitmq/bin/rabbitmq-server"), Path("/opt/homebrew/sbin/rabbitmq-server"))
"""Programs of packages; those on the path insist on their own user."""

START_S = 60.0

LOOPBACK = "127.0.0.1"


def find_server() -> Path:
    """Return the installed program."""
    for program in SERVERS:
        if program.exists():
            return program
    raise RabbitError("rabbitmq-server is not installed here: on Debian and Ubuntu, apt-get install rabbitmq-server")


@dataclass
class PrivateBroker:
    """A broker with its own ports, data and logs. A ``with`` block starts and removes it."""

    _folder: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="mead-rabbitmq-")))
    _ports: list[int] = field(default_factory=lambda: free_ports(3))
    _process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """The value for option ``url``."""
        return f"amqp://guest:guest@{LOOPBACK}:{self._ports[0]}/"

    @property
    def pid(self) -> int | None:
        """The process of the broker; None while it is not running."""
        return self._process.pid if self._process else None

    def start(self) -> None:
        """Start it on the data that it has kept; it answers when this returns.

        A broker that was just killed may still be registered under its name: the new one ends, and we start another.
        """
        (self._folder / "plugins").write_text("[].")
        until_s = monotonic() + START_S
        while True:
            if self._process is None or self._process.poll() is not None:
                self._process = self._launch()
            try:
                Connection(self.url).close()
            except UnreachableError as error:
                if monotonic() > until_s:
                    said = (self._folder / "output").read_text().strip().splitlines()[-1:]
                    raise RabbitError(f"the broker did not start: {' '.join(said) or error}") from None
                sleep(0.1)
            else:
                return

    def _launch(self) -> subprocess.Popen[bytes]:
        with (self._folder / "output").open("ab") as output:
            return subprocess.Popen(  # noqa: S603 - a program of this machine, found by its fixed path
                [find_server()],
                env=os.environ | self._environment(),
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def stop(self) -> None:
        """Shut it down properly."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """Kill it, as a crash would."""
        self._end(signal.SIGKILL)

    def __enter__(self) -> Self:
        find_server()
        try:
            self.start()
        except RabbitError:
            self.remove()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()

    def remove(self) -> None:
        """End it, and remove all its files."""
        self.stop()
        # The broker has started Erlang's name service, on its own port.
        if epmd := shutil.which("epmd"):
            environment = os.environ | self._environment()
            subprocess.run([epmd, "-kill"], env=environment, check=False, capture_output=True)  # noqa: S603 - as above
        shutil.rmtree(self._folder, ignore_errors=True)

    def _end(self, sign: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(sign)
            self._process.wait(START_S)
            self._process = None

    def _environment(self) -> dict[str, str]:
        port, between_nodes, names = map(str, self._ports)
        return {
            "HOME": str(self._folder),  # for the Erlang cookie
            "RABBITMQ_NODENAME": f"mead-{port}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": LOOPBACK,
            "RABBITMQ_NODE_PORT": port,
            "RABBITMQ_DIST_PORT": between_nodes,
            "ERL_EPMD_PORT": names,
            "ERL_EPMD_ADDRESS": LOOPBACK,
            "RABBITMQ_MNESIA_BASE": str(self._folder / "data"),
            "RABBITMQ_LOG_BASE": str(self._folder / "log"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(self._folder / "plugins"),
            "RABBITMQ_CONFIG_FILE": str(self._folder / "none"),
            "RABBITMQ_CONF_ENV_FILE": str(self._folder / "none"),
            "RABBITMQ_ALLOW_INPUT": "1",  # so that the script becomes the broker, and signals reach it
            # No input; only this machine may connect; idle threads do not spin.
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-noinput -kernel inet_dist_use_interface {127,0,0,1} "
            "+sbwt none +sbwtdcpu none +sbwtdio none",
        }


def free_ports(count: int) -> list[int]:
    """Return different ports that are free at the moment."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind((LOOPBACK, 0))
        return [int(one.getsockname()[1]) for one in sockets]
