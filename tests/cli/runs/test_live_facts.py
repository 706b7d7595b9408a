"""What the page and the history of a live run begin with: one beginning, and how often its loop turns."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer
from prometheus_client.parser import text_string_to_metric_families
from tests.paths import EXAMPLES
from tests.web import runs
from tests.web.prometheus import fired, why_no_prometheus

from mead.cli.runs.history import recorded
from mead.cli.runs.live import LiveOptions, _facts, _watched
from mead.history import History
from mead.loop import Mode
from mead.policies import PolicyOptions, make_policy
from mead.policies.predictive.map import MapOptions
from mead.policies.registry import OwnOptions
from mead.session import RunFacts
from mead.web.exposition import exposition

OWN = OwnOptions(name="clear_up:ClearUp")
TWO_LEVEL = MapOptions(interval_s=60.0, two_level=True)


@pytest.fixture(autouse=True)
def _beside_the_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(EXAMPLES)


def facts(options: PolicyOptions) -> RunFacts:
    live = LiveOptions(options, Mode.ACT, None, Path("runs/one"))
    return _facts(runs.PIPELINE, live, Mode.ACT, make_policy(options).interval_s)


@pytest.mark.parametrize(("options", "interval_s"), [(OWN, 1.0), (TWO_LEVEL, 1.0), (MapOptions(), 60.0)])
def test_page_and_history_say_how_often_the_loop_turns(
    tmp_path: Path, options: PolicyOptions, interval_s: float
) -> None:
    page, file = facts(options), tmp_path / "history.sqlite"
    ctx = typer.Context(typer.core.TyperCommand("run"))
    written = options.model_dump()
    with recorded(
        ctx, file, page.pipeline, written, page.workload, lambda _: None, started=page.started, interval_s=interval_s
    ):
        pass
    with History.read(file) as history:
        (past,) = history.runs()
    assert page.interval_s == RunFacts.of(past).interval_s == interval_s
    assert RunFacts.of(past).id == page.id, "one run, one beginning"
    assert {key: past.options[key] for key in written} == options.model_dump(mode="json"), "and its options as they are"


def test_a_policy_of_ones_own_that_never_makes_a_round_is_called_silent(tmp_path: Path) -> None:
    if reason := why_no_prometheus():
        pytest.skip(reason)
    with _watched(facts(OWN), None) as board:
        families = text_string_to_metric_families(exposition(board).decode())
        told = {one.name: one.value for family in families for one in family.samples if not one.labels}
    assert told["mead_rounds_total"] == 0
    of_page = {name: told[name] for name in ("mead_round_interval_seconds", "mead_run_finished")}
    series = {f'{name}{{job="mead", instance="a"}}': f"{value}x10" for name, value in of_page.items()}
    last_round = 'mead_last_round_timestamp_seconds{job="mead", instance="a"}'
    assert fired(tmp_path, series | {last_round: "0x10"}, at="2m") == {"MeadControllerSilent"}
    assert fired(tmp_path, series | {last_round: "0+60x10"}, at="2m") == set()
