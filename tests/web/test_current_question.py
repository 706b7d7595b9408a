from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.web import runs

from mead.reports.live import Board
from mead.values import Pipeline
from mead.web.current_question import current_question, dispersion


def test_sliders_begin_where_the_run_is() -> None:
    board = runs.board(runs.simulated("threshold").rounds)
    last, now = board.last, current_question(board)
    assert last is not None
    assert {name: held.share for name, held in now.allocation.items()} == {
        name: operator.share for name, operator in last.operators.items()
    }
    rates = [frame.rate_per_s for frame in board.recent(60.0) if frame.rate_per_s is not None]
    assert now.rate_per_s == pytest.approx(np.mean(rates))
    assert now.with_bounds(runs.PIPELINE) == runs.PIPELINE


def test_without_rounds_they_begin_at_what_may_be_had() -> None:
    now = current_question(runs.board([]))
    assert now.allocation == runs.PIPELINE.most
    assert (now.rate_per_s, now.idc) == (1.0, 1.0)


def test_burstiness_now_is_read_from_arrivals_or_from_rounds() -> None:
    frames = runs.board(runs.simulated("threshold").rounds).since(0)
    observation = runs.simulated("threshold").rounds[-1].observation
    assert observation is not None
    assert 30 < dispersion(observation.iats_s, frames, "parser") < 300  # of arrivals with a limit of 100
    assert dispersion(np.zeros(0), frames, "parser") > 10
    assert dispersion(np.zeros(0), [], "parser") == 1.0


def test_burstiness_is_that_of_the_source_wherever_it_stands_in_the_file() -> None:
    frames = runs.board(runs.simulated("threshold").rounds).since(0)
    backwards = Pipeline("log-analysis", runs.PIPELINE.operators[::-1], runs.PIPELINE.edges)
    board = Board(replace(runs.facts(), pipeline=backwards), wall_s=lambda: 0.0)
    for frame in frames:
        steady = replace(frame.operators["matcher"], arrived=1000)
        board.put(replace(frame, operators={"matcher": steady, "parser": frame.operators["parser"]}), 0.0)
    counts = [frame.operators["parser"].arrived or 0 for frame in frames]
    assert current_question(board).idc == pytest.approx(np.var(counts) / np.mean(counts))
