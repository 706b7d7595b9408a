"""Code that a pipeline file names: commands in virtual time run it only if they are told to."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.cli.program import complaint, run
from tests.paths import EXAMPLES

import mead
from mead.config import read_pipeline
from mead.history import History
from mead.keys import ConfigError
from mead.policies import make_policy
from mead.policies.registry import OwnOptions
from mead.reports.live import HistoryBoard
from mead.session import Session
from mead.simulator import simulate
from mead.workload import Trace

COMMANDS = ["simulate", "plan", "evaluate"]

PIPELINE = """
name: one
operators: [{{name: a, demand_s: 0.001, shares: [0.5, 1.0]}}]
requirements: [{{path: a, mean_s: 1}}]
policy: {policy}
"""

SPY = """
from pathlib import Path
from clear_up import ClearUp

Path("imported").touch()

class Spy(ClearUp):
    pass
"""


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path, str(EXAMPLES)])
    Path("spy.py").write_text(SPY)
    np.save("arrivals.npy", np.arange(0.0, 40.0, 0.05))
    yield
    sys.modules.pop("spy", None)


def pipeline(policy: str) -> Path:
    Path("pipe.yaml").write_text(PIPELINE.format(policy=policy))
    return Path("pipe.yaml")


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("policy", "name"),
    [("{name: 'subprocess:Popen', args: [touch, ran]}", "subprocess:Popen"), ("{name: 'spy:Spy'}", "spy:Spy")],
)
def test_code_that_a_file_names_is_not_even_imported(command: str, policy: str, name: str) -> None:
    said = complaint(command, pipeline(policy), "--trace", "arrivals.npy")
    assert said.startswith(f"mead {command}: pipe.yaml:5: policy.name: {name} is code")
    assert "--trust" in said
    assert not Path("ran").exists()
    assert not Path("imported").exists()
    assert "spy" not in sys.modules


def test_a_trusted_file_may_name_a_class() -> None:
    result = run("simulate", pipeline("{name: 'spy:Spy'}"), "--trace", "arrivals.npy", "--trust", "--json")
    assert result.exit_code == 0, result.output
    assert Path("imported").exists()


@pytest.mark.parametrize("command", COMMANDS)
def test_a_class_that_the_user_names_needs_no_further_word(command: str) -> None:
    file = pipeline("{name: 'spy:Spy', within: 0.4}")
    result = run(command, file, "--trace", "arrivals.npy", "--policy", "spy:Spy", "--json")
    assert result.exit_code == 0, result.output
    assert Path("imported").exists()


@pytest.mark.parametrize("command", COMMANDS)
def test_a_module_beside_the_file_does_not_replace_that_of_the_user(command: str) -> None:
    Path("downloaded").mkdir()
    Path("downloaded/spy.py").write_text("open('planted', 'w').close()\n" + SPY)
    file = pipeline("{name: static}").rename("downloaded/pipe.yaml")
    result = run(command, file, "--trace", "arrivals.npy", "--policy", "spy:Spy", "--json")
    assert result.exit_code == 0, result.output
    assert Path("imported").exists()
    assert not Path("planted").exists()


@pytest.mark.parametrize("command", COMMANDS)
def test_a_class_that_lies_only_beside_the_file_needs_trust(command: str) -> None:
    Path("downloaded").mkdir()
    file = pipeline("{name: static}").rename("downloaded/pipe.yaml")
    Path("spy.py").rename("downloaded/spy.py")
    said = complaint(command, file, "--trace", "arrivals.npy", "--policy", "spy:Spy")
    assert said.startswith(f"mead {command}: the module of spy:Spy lies beside downloaded/pipe.yaml")
    assert not Path("imported").exists()
    with pytest.raises(ConfigError, match="trust=True"):
        mead.simulate(file, "arrivals.npy", policy="spy:Spy")
    result = run(command, file, "--trace", "arrivals.npy", "--policy", "spy:Spy", "--trust", "--json")
    assert result.exit_code == 0, result.output
    assert Path("imported").exists()


@pytest.mark.parametrize(("command", "more"), [("simulate", ("--trust",)), ("run", ())])
def test_a_class_that_is_no_policy_is_never_called(command: str, more: tuple[str, ...]) -> None:
    file = pipeline("{name: 'subprocess:Popen', args: [touch, ran]}")
    trace = () if command == "run" else ("--trace", "arrivals.npy")
    said = complaint(command, file, *trace, *more)
    assert said == f"mead {command}: subprocess:Popen is not a policy: it has no method analyze"
    assert not Path("ran").exists()


def test_a_function_is_never_called_as_a_policy() -> None:
    with pytest.raises(ConfigError, match="os:system is not a policy: it is not a class"):
        make_policy(OwnOptions.model_validate({"name": "os:system", "command": "touch ran"}))
    assert not Path("ran").exists()


def test_python_asks_for_trust_too() -> None:
    file = pipeline("{name: 'spy:Spy'}")
    with pytest.raises(ConfigError, match=r"policy\.name: spy:Spy is code.*trust=True"):
        mead.simulate(file, "arrivals.npy")
    assert not Path("imported").exists()
    assert mead.simulate(file, "arrivals.npy", trust=True).as_json()["policy"] == "clear-up"


def test_a_history_that_names_a_class_is_served_without_it() -> None:
    described = read_pipeline(pipeline("{name: static}")).pipeline
    with Session(described, OwnOptions(name="clear_up:ClearUp"), history=Path("h")) as session:
        simulate(session, Trace.from_iats_s([0.5] * 4), seed=1)
    del sys.modules["clear_up"]
    with History.read(Path("h")) as history:
        HistoryBoard(history, history.runs()[0], wall_s=lambda: 0.0).follow()
    assert "clear_up" not in sys.modules
