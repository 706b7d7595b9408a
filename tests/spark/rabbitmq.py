"""RabbitMQ for tests: installed where that is possible, or a reason to skip."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from mead.spark.rabbitmq.broker import server
from mead.spark.rabbitmq.connection import RabbitError


def why_no_broker() -> str | None:
    """None if there is one to start. It is installed in containers, where no service manager would start it as well."""
    try:
        server()
    except RabbitError as error:
        reason = str(error)
    else:
        return None
    if os.geteuid() != 0 or Path("/run/systemd/system").exists() or not shutil.which("apt-get"):
        return reason
    command = ["apt-get", "install", "--yes", "--no-install-recommends", "rabbitmq-server"]
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
    run = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
    return None if run.returncode == 0 else f"{reason} failed: {run.stderr.strip().splitlines()[-1:]}"
