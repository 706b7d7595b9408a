"""Prometheus for tests: installed where that is possible, or a reason to skip."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import yaml

from mead.web.prometheus.alerts import alert_rules


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


def fired(folder: Path, series: Mapping[str, str], at: str = "9m") -> set[str]:
    """The alerts that fire at a time, by promtool's own simulation of it, with a sample a minute.

    It is told to expect none, and complains of each.
    """
    (folder / "alerts.yml").write_text(alert_rules())
    names = [rule["alert"] for group in yaml.safe_load(alert_rules())["groups"] for rule in group["rules"]]
    test = {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "alert_rule_test": [{"eval_time": at, "alertname": name, "exp_alerts": []} for name in names],
    }
    (folder / "test.yml").write_text(yaml.safe_dump({"rule_files": ["alerts.yml"], "tests": [test]}))
    command = ["promtool", "test", "rules", "test.yml"]
    run = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)
    found = set(re.findall(r'alertname="(\w+)"', run.stdout + run.stderr))
    assert run.returncode == bool(found), run.stdout + run.stderr
    return found
