"""A password of a broker that comes from the environment is in no output, no file and no command line of a run."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from time import sleep

import pytest
from tests.programs import program
from tests.spark.sources.rabbitmq.broker import why_no_broker

from mead.spark.sources.rabbitmq.broker import PrivateBroker
from mead.spark.sources.rabbitmq.location import OPEN_STREAMS, StreamLocation
from mead.spark.sources.rabbitmq.publisher import OutgoingMessage, publish

pytest.importorskip("pika")

pytestmark = [pytest.mark.slow, pytest.mark.spark]

PASSWORD, ENCODED = "p@ss/wyxzq", "p%40ss%2Fwyxzq"
PART = "wyxzq"

PIPELINE = """
name: shop
operators:
  - {name: parser, demand_s: 0.0001, function: "mead.demo.parser:make_parser", options: {column: value}}
  - {name: counter, demand_s: 0.0001, function: "mead.demo.counter:count", key: [component, level]}
edges: [[parser, counter]]
source: {rabbitmq: {url: "amqp://guest:${SHOP_PASSWORD}@%s", stream: shop}}
streams: {rabbitmq: {url: "${SHOP_URL}"}}
policy: {name: static, interval_s: 1}
"""


class Guarded(PrivateBroker):
    """A broker with another password than the usual one."""

    @property
    def url(self) -> str:
        """The value for option ``url``."""
        return super().url.replace("guest:guest", f"guest:{ENCODED}")

    def _environment(self) -> dict[str, str]:
        environment = super()._environment()
        (self._folder / "guarded.conf").write_text(f"default_pass = {PASSWORD}\n")
        return environment | {"RABBITMQ_CONFIG_FILE": str(self._folder / "guarded")}


def command_lines() -> str:
    """The command lines of all processes."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(place.read_bytes().decode(errors="replace"))
        except OSError:
            continue  # it has just ended
    return "\n".join(found)


def test_a_password_from_the_environment_is_written_nowhere(tmp_path: Path) -> None:
    if reason := why_no_broker():
        pytest.skip(reason)
    with Guarded() as broker:
        lines = (OutgoingMessage(b"2026-01-01 00:00:00 INFO shop: order", f"{n}") for n in range(200))
        publish(StreamLocation(broker.url, "shop", create=True), lines)
        OPEN_STREAMS.drop()
        (tmp_path / "pipe.yaml").write_text(PIPELINE % broker.url.rpartition("@")[2])
        words = ("run", tmp_path / "pipe.yaml", "--duration", "5", "--folder", tmp_path / "run", "--json")
        variables = os.environ | {"SHOP_PASSWORD": PASSWORD, "SHOP_URL": broker.url}
        with (tmp_path / "out").open("w") as out, (tmp_path / "err").open("w") as err:
            running = subprocess.Popen(program("tests.spark.hurried", *words), env=variables, stdout=out, stderr=err)
            try:
                while running.poll() is None:
                    assert PART not in command_lines()
                    sleep(0.5)
            finally:
                running.terminate()
                running.wait()
    said = (tmp_path / "err").read_text()
    assert running.returncode == 0, said
    assert json.loads((tmp_path / "out").read_text())["rows_in"]["parser"] >= 200
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert tmp_path / "run/report.html" in files
    assert [path for path in files if PART.encode() in path.read_bytes()] == []
