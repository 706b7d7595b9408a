"""RabbitMQ for tests, installed if possible, and the content of a stream, read without Spark."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pyarrow as pa

from mead.spark.sources.rabbitmq.broker import find_server
from mead.spark.sources.rabbitmq.connection import RabbitError
from mead.spark.sources.rabbitmq.location import StreamLocation
from mead.spark.sources.rabbitmq.source import RabbitReader


def why_no_broker() -> str | None:
    """The reason to skip, or None. In containers, where no service manager would start it, this installs a broker."""
    try:
        find_server()
    except RabbitError as error:
        reason = str(error)
    else:
        return None
    if os.geteuid() != 0 or Path("/run/systemd/system").exists() or not shutil.which("apt-get"):
        return reason
    waiting = "DPkg::Lock::Timeout=300"  # another test may be installing a package
    command = ["apt-get", "install", "-o", waiting, "--yes", "--no-install-recommends", "rabbitmq-server"]
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
    run = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
    return None if run.returncode == 0 else f"{reason} failed: {run.stderr.strip().splitlines()[-1:]}"


def reader(place: StreamLocation, folder: Path, **options: Any) -> RabbitReader:
    """As many tasks read it as the file ``tasks`` says."""
    return RabbitReader(place, folder / "tasks", **options)


def read(source: RabbitReader, start: dict[str, int], end: dict[str, int]) -> pa.Table:
    """The messages between two offsets."""
    return pa.Table.from_batches([b for part in source.partitions(start, end) for b in source.read(part)])


def all_of(place: StreamLocation, folder: Path) -> pa.Table:
    """All messages that are there now."""
    source = reader(place, folder)
    start = source.initialOffset()
    table = read(source, start, source.latestOffset(start, None))
    source.stop()
    return table
