from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.cli import program
from tests.paths import EXAMPLES

import mead
from mead.history import History
from mead.keys import ConfigError
from mead.policies.baselines.threshold import ThresholdOptions
from mead.values import Operator
from mead.workload import TraceError

LOGS = EXAMPLES / "log-analysis.yaml"


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    times_s = np.cumsum(np.random.default_rng(1).exponential(0.01, 3000))
    np.save(tmp_path / "trace.npy", (times_s * 1e6).astype(np.int64))
    return tmp_path / "trace.npy"


def test_simulate_gives_what_the_command_prints(trace: Path, tmp_path: Path) -> None:
    report = mead.simulate(LOGS, trace, policy="threshold", seed=3, duration_s=20.0, history=tmp_path / "h.sqlite")
    words: tuple[program.Word, ...] = ("--trace", trace, "--policy", "threshold", "--seed", 3, "--duration", 20)
    assert report.as_json() == program.answer("simulate", LOGS, *words)
    with History.read(tmp_path / "h.sqlite") as history:
        (run,) = history.runs()
    assert (run.policy, run.workload, run.finished) == ("threshold", "trace.npy, seed 3", True)


def test_a_policy_may_be_options_and_a_pipeline_a_value(trace: Path) -> None:
    pipeline = mead.Pipeline("one", [Operator("matcher", 0.002)])
    report = mead.simulate(pipeline, trace, policy=ThresholdOptions(interval_s=7.0))
    assert [this.time_s for this in report.rounds][:2] == [7.0, 14.0]


def test_mistakes_are_named(trace: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no policy 'trheshold'; did you mean threshold"):
        mead.simulate(LOGS, trace, policy="trheshold")
    with pytest.raises(TraceError, match=r"none\.npy"):
        mead.simulate(LOGS, tmp_path / "none.npy")
    with pytest.raises(ConfigError, match=r"none.yaml"):
        mead.run(tmp_path / "none.yaml")
