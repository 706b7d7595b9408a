"""The facts of a run, as page and history begin with them."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.paths import EXAMPLES
from tests.web import runs
from tests.web.prometheus import fired, why_no_prometheus

from mead.history import History
from mead.policies import PolicyOptions
from mead.policies.predictive.map import MapOptions
from mead.policies.registry import OwnOptions
from mead.reports.live import Board
from mead.session import RunFacts, Session
from mead.simulator import simulate
from mead.web.prometheus.exposition import exposition
from mead.workload import Trace

OWN = OwnOptions(name="clear_up:ClearUp")
TWO_LEVEL = MapOptions(interval_s=60.0, two_level=True)


@pytest.fixture(autouse=True)
def _beside_the_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(EXAMPLES)


@pytest.mark.parametrize(("options", "interval_s"), [(OWN, 1.0), (TWO_LEVEL, 1.0), (MapOptions(), 60.0)])
def test_page_and_history_say_how_often_the_loop_turns(
    tmp_path: Path, options: PolicyOptions, interval_s: float
) -> None:
    file = tmp_path / "history.sqlite"
    with Session(runs.PIPELINE, options, engine="spark", history=file) as session:
        page = session.facts
        simulate(session, Trace.from_iats_s([0.5] * 4), seed=1)  # a run is in the history once it has begun
    with History.read(file) as history:
        (past,) = history.runs()
    assert page.interval_s == RunFacts.of(past).interval_s == interval_s
    assert RunFacts.of(past).id == page.id, "one run, one beginning"
    written = options.model_dump(mode="json")
    assert {key: past.options[key] for key in written} == written, "and its options as they are"


def test_a_policy_of_ones_own_that_never_makes_a_round_is_called_silent(tmp_path: Path) -> None:
    if reason := why_no_prometheus():
        pytest.skip(reason)
    board = Board(Session(runs.PIPELINE, OWN).facts, wall_s=time.time)
    families = text_string_to_metric_families(exposition(board).decode())
    told = {one.name: one.value for family in families for one in family.samples if not one.labels}
    assert told["mead_rounds_total"] == 0
    of_page = {name: told[name] for name in ("mead_round_interval_seconds", "mead_run_finished")}
    series = {f'{name}{{job="mead", instance="a"}}': f"{value}x10" for name, value in of_page.items()}
    last_round = 'mead_last_round_timestamp_seconds{job="mead", instance="a"}'
    assert fired(tmp_path, series | {last_round: "0x10"}, at="2m") == {"MeadControllerSilent"}
    assert fired(tmp_path, series | {last_round: "0+60x10"}, at="2m") == set()
