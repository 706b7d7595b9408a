"""``python -m experiments live``, as far as it gets without Spark."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import typer
from experiments.commands import live
from tests.experiments.program import complaint
from typer.main import get_command

from mead.cli import app


@pytest.mark.parametrize("policy", ["drs", "pasps@predictor=lr", "psps", "dabs"])
def test_who_changes_replicas_alone_is_refused_where_operators_have_one(policy: str) -> None:
    said = complaint("live", "--policy", "static", "--policy", policy)
    assert said == (
        f"python -m experiments live: {policy} changes replicas alone, and operators may have one; "
        "give --replicas 2 or more"
    )


def test_more_replicas_than_there_may_be_are_refused() -> None:
    said = complaint("live", "--replicas", "2", "--policy", "static@replicas=3")
    assert said.endswith("static@replicas=3 is for 3 replicas, and operators may have 2; give --replicas 3 or more")
    assert "--replicas" in complaint("live", "--replicas", "0")


@pytest.mark.parametrize(
    ("recorded", "start_s", "replicas", "said"),
    [
        (True, 0.0, 1, "arrivals of some.npy"),
        (True, 2.5, 1, "arrivals of some.npy from 2.5 s on"),
        (False, 0.0, 1, "generated arrivals (330/s, index of dispersion 200)"),
        (False, 0.0, 4, "generated arrivals with a flash crowd"),
    ],
)
def test_it_is_said_which_arrivals_are_used(
    tmp_path: Path, *, recorded: bool, start_s: float, replicas: int, said: str
) -> None:
    np.save(tmp_path / "some.npy", 100_000 * np.arange(600))
    trace = tmp_path / "some.npy" if recorded else None
    context = typer.Context(get_command(app))
    assert live._workload(context, trace, start_s, 10.0, 0.0015, replicas).title == said
