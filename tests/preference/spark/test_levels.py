"""Both levels in a closed loop with the real stages: only the cost of work and the clock are made up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.preference.spark.oracle import Tuple
from tests.preference.spark.stream_folder import BATCH_S, engine, in_this_process, names, put

from mead.preference.control.degrees import Degrees
from mead.preference.kernels.dominance import Preferences
from mead.preference.spark.engine import Step
from mead.preference.spark.pane_stage import PaneOutput
from mead.preference.spark.query_spec import ExecutionOptions, QuerySpec
from mead.preference.spark.window_runner import D, W
from mead.preference.windows.owner_table import Splitting
from mead.preference.windows.panes import Windows

SPEC = QuerySpec(Preferences(tuple(names(2)), ("min", "min")), Windows(300, 100))
BATCHES, ROWS, GAP_US = 45, 200, 1_000


def costly(function: Callable[[W], D], works: Sequence[W]) -> list[D]:
    """Work grows with the square of the tuples that a task gets, as in a nested loop: 50 take 0.1 s, 200 take 1.6 s."""
    done = []
    for one in in_this_process(function, works):
        if isinstance(one, PaneOutput):
            one = replace(one, busy_s=0.1 * (one.received / 50) ** 2)  # noqa: PLW2901 - the same with another cost
        done.append(one)
    return done


def run(folder: Path, options: ExecutionOptions) -> list[Step]:
    """Two panes in every micro-batch, one of which comes 0.3 s after the one before."""
    number, steps = 0, []
    rng, running = np.random.default_rng(1), engine(folder, SPEC, options, 2, costly, lambda: BATCH_S * number)
    values = rng.random((BATCHES * ROWS, 2)).tolist()
    stream = [Tuple(n * GAP_US, n * GAP_US, tuple(row)) for n, row in enumerate(values)]
    for number in range(BATCHES):
        put(folder, number, stream[ROWS * number : ROWS * (number + 1)], 2, rng)
        step = running.step()
        assert step is not None
        steps.append(step)
    return steps


def late(steps: list[Step], of: Callable[[Step], float | None]) -> float:
    """Mean over the last third."""
    return float(np.mean([value for value in map(of, steps[-BATCHES // 3 :]) if value is not None]))


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Step]]:
    """By who acts."""
    both = ExecutionOptions(control_s=1.5, most=20)
    settings = {
        "nobody": replace(both, splitting=Splitting.NEVER, elastic=False),
        "elasticity": replace(both, splitting=Splitting.NEVER),
        "splitting": replace(both, elastic=False, start=Degrees(8, 1)),
        "both": both,
    }
    return {name: run(tmp_path_factory.mktemp(name), options) for name, options in settings.items()}


def test_elasticity_alone_is_bounded_by_the_panes_that_are_open(outcomes: dict[str, list[Step]]) -> None:
    steps = outcomes["elasticity"]
    assert late(steps, lambda step: step.degrees.panes) > 10, "it adds tasks, and goes on adding"
    assert all(pane.count == 1 for step in steps for pane in step.closed)
    assert late(steps, lambda step: step.pane_utilization) > 1


@pytest.mark.parametrize("name", ["splitting", "both"])
def test_with_splitting_the_utilization_comes_down_to_its_set_point(outcomes: dict[str, list[Step]], name: str) -> None:
    alone, split = (late(outcomes[of], lambda step: step.pane_utilization) for of in ("nobody", name))
    assert alone > 2
    assert 0.8 < split < 1
    assert late(outcomes[name], lambda step: float(np.mean([pane.count for pane in step.closed]))) >= 1.4


def test_both_levels_need_fewer_tasks_than_elasticity_alone(outcomes: dict[str, list[Step]]) -> None:
    tasks = {name: late(steps, lambda step: step.degrees.panes) for name, steps in outcomes.items()}
    assert tasks["nobody"] < tasks["both"] < tasks["elasticity"]
