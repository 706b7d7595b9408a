"""Prometheus for tests: installed where that is possible, or a reason to skip."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path


def why_no_prometheus() -> str | None:
    """None if it is there. It is installed in containers, where no service manager would start it as well."""
    if shutil.which("prometheus") and shutil.which("promtool"):
        return None
    reason = "there is no Prometheus; on Debian: apt-get install prometheus"
    if os.geteuid() != 0 or Path("/run/systemd/system").exists() or not shutil.which("apt-get"):
        return reason
    waiting = "DPkg::Lock::Timeout=300"  # other tests may be installing something, too
    command = ["apt-get", "install", "-o", waiting, "--yes", "--no-install-recommends", "prometheus"]
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
    run = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
    return None if run.returncode == 0 else f"{reason} failed: {run.stderr.strip().splitlines()[-1:]}"
