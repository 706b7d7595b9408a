"""``mead serve`` and ``mead metrics``."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import numpy as np
import pytest
import yaml
from tests.cli import program
from tests.waiting import PATIENCE_S
from tests.web import runs

complaint = partial(program.complaint, "serve")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As a run leaves it behind: a history, and the arrivals of its source in microseconds."""
    place = tmp_path_factory.mktemp("run")
    runs.written(place / "history.sqlite", runs.simulated())
    observation = runs.simulated().rounds[-1].observation
    assert observation is not None
    np.save(place / "arrivals.npy", (np.cumsum(observation.iats_s) * 1e6).astype(np.int64))
    return place


def read(address: str) -> Any:
    with urlopen(address, timeout=PATIENCE_S) as answer:  # noqa: S310 - ours
        return answer.read().decode()


@pytest.mark.parametrize("word", ["", "history.sqlite"])
def test_a_run_is_served_until_ctrl_c(folder: Path, word: str) -> None:
    command = [str(program.PROGRAM), "serve", str(folder / word), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as served:
        try:
            assert served.stdout is not None
            said = served.stdout.readline()
            address = re.search(r"http://127\.0\.0\.1:\d+/", said)
            assert address, said
            found, metrics = json.loads(read(f"{address[0]}api/run")), read(f"{address[0]}metrics")
            served.send_signal(signal.SIGINT)
            _, errors = served.communicate(timeout=PATIENCE_S)
        finally:
            served.kill()
    assert (served.returncode, errors) == (0, "")
    assert (found["policy"], found["finished"]) == ("mg1", True)
    assert found["rounds"] == len(runs.simulated().rounds)
    assert found["arrivals"] > 1000
    assert "mead_rounds_total" in metrics


def test_what_cannot_be_served_is_said_in_one_line(folder: Path, tmp_path: Path) -> None:
    assert complaint(tmp_path / "nothing.sqlite").endswith("there is no such file; a run with --history makes one")
    assert "there is no run 7" in complaint(folder, "--run", 7)
    assert "not an address of this machine" in complaint(folder, "--host", "no.such.host.invalid")
    assert str(folder / "nothing.npy") in complaint(folder, "--trace", folder / "nothing.npy")


def test_every_metric_is_listed() -> None:
    found = program.answer("metrics", "list")["metrics"]
    assert {"mead_response_seconds", "mead_decisions_total"} <= {one["name"] for one in found}
    assert all(one["meaning"] for one in found)
    assert "mead_backlog_tuples" in program.run("metrics", "list", columns=120).output


def test_dashboard_and_alerts_are_documents() -> None:
    assert json.loads(program.run("metrics", "dashboard").output)["panels"]
    rules = yaml.safe_load(program.run("metrics", "alerts").output)["groups"][0]["rules"]
    assert [rule["alert"] for rule in rules] == ["MeadRequirementBroken", "MeadControllerSilent", "MeadRunGone"]


def test_help_does_not_load_a_server() -> None:
    script = "import sys, mead.cli; sys.exit(any(name in sys.modules for name in ('uvicorn', 'starlette', 'numpy')))"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
