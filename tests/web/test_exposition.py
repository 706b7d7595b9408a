"""What Prometheus reads, checked by its own parser, by promtool, and by a real scrape."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit
from urllib.request import urlopen

import numpy as np
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample
from tests.paths import ROOT
from tests.waiting import PATIENCE_S
from tests.web import runs
from tests.web.prometheus import fired, why_no_prometheus

from mead.monitor import BatchResponses, PathMonitor
from mead.reports.frames import Kind
from mead.reports.live import Board, model_error
from mead.values import Cause, Requirement
from mead.web.prometheus.alerts import alert_rules
from mead.web.prometheus.dashboard import OMITTED, dashboard
from mead.web.prometheus.exposition import exposition
from mead.web.prometheus.metrics import Metric
from mead.web.prometheus.reference import page
from mead.web.server import serving
from mead.web.token import Token

needs_prometheus = pytest.mark.usefixtures("_prometheus")


@pytest.fixture(scope="module")
def _prometheus() -> None:
    if reason := why_no_prometheus():
        pytest.skip(reason)


def samples(board: Board) -> dict[str, list[Sample]]:
    families = text_string_to_metric_families(exposition(board).decode())
    return {family.name: list(family.samples) for family in families}


def value(board: Board, metric: Metric, **labels: str) -> float:
    found = [s for s in samples(board)[metric.family] if s.labels == labels and s.name == metric.value.name]
    assert len(found) == 1
    return float(found[0].value)


@pytest.mark.parametrize("policy", ["mg1", "adaptive"])
def test_in_mode_advise_the_model_error_and_the_caution_are_told(policy: str) -> None:
    board = runs.board(runs.simulated(policy, "advise").rounds, mode="advise")
    asked = runs.PIPELINE.requirements[0].path
    assert value(board, Metric.MODEL_ERROR, path=asked) == model_error(board.recent(300.0), asked)
    last = board.last
    assert last is not None
    assert value(board, Metric.CAUTION) == last.caution


def test_every_metric_of_the_list_is_there_and_no_other() -> None:
    found = samples(runs.board(runs.simulated().rounds))
    assert set(found) == {metric.family for metric in Metric}
    for metric in Metric:
        assert found[metric.family], metric
        for sample in found[metric.family]:
            assert set(sample.labels) - {"le"} == set(metric.value.labels)


def test_a_run_without_rounds_has_metrics_too() -> None:
    board = runs.board([])
    assert value(board, Metric.ROUNDS) == 0
    assert value(board, Metric.LAST_ROUND) == runs.STARTED_S, "it may never make one"


def test_numbers_are_those_of_the_run() -> None:
    result = runs.simulated()
    board = runs.board(result.rounds)
    last = result.rounds[-1]
    assert last.in_force is not None
    assert last.observation is not None
    assert value(board, Metric.ROUNDS) == len(result.rounds)
    assert value(board, Metric.CORES) == pytest.approx(last.in_force.cores)
    assert value(board, Metric.SHARE, operator="matcher") == last.in_force["matcher"].share
    assert value(board, Metric.BACKLOG, operator="matcher") == last.observation.operators["matcher"].backlog
    assert value(board, Metric.REQUIRED, path="parser>matcher", statistic="mean") == 0.3
    assert value(board, Metric.LAST_ROUND) == runs.STARTED_S
    left = sum(this.observation.paths["parser>matcher"].completed for this in result.rounds if this.observation)
    counts = {s.labels["path"]: s.value for s in samples(board)["mead_response_seconds"] if s.name.endswith("_count")}
    assert counts["parser>matcher"] == left


def test_decisions_are_counted_by_what_they_came_to_and_why() -> None:
    board = runs.board(runs.simulated().rounds)
    found = samples(board)[Metric.DECISIONS.family]
    counted = {(s.labels["kind"], s.labels["because"]): s.value for s in found}
    assert sum(counted.values()) == len(runs.simulated().rounds)
    for frame in board.since(0):
        assert counted[frame.kind.value, frame.because.value] > 0
        assert frame.because is not Cause.UNSAID
    assert len({because for (_, because), rounds in counted.items() if rounds}) > 2
    assert len(counted) <= len(Kind) * len(Cause), "the list has an end"
    assert counted["failed", "failed"] == 0, "and is there before anything happens"


def test_the_dashboard_has_a_panel_by_reason() -> None:
    panels = {panel["title"]: panel["targets"][0] for panel in dashboard()["panels"]}
    assert panels["decisions by because per s"]["legendFormat"] == "{{because}}"
    assert panels["decisions by because per s"]["expr"].startswith("sum by (because) (rate(mead_decisions_total{")
    assert panels["decisions by kind per s"]["legendFormat"] == "{{kind}}"


def test_live_response_times_are_a_histogram_of_single_tuples() -> None:
    response_s = np.random.default_rng(1).lognormal(-1.0, 1.0, 5000)
    monitors = {path: PathMonitor(()) for path in runs.PIPELINE.paths}
    for one in response_s:
        monitors["parser>matcher"].add(BatchResponses(10.0, 1, float(one), np.full(9, one)))
    board = runs.board([])
    board.add(runs.simulated().rounds[0], monitors)
    found = [s for s in samples(board)["mead_response_seconds"] if s.labels.get("path") == "parser>matcher"]
    buckets = [(float(s.labels["le"]), s.value) for s in found if s.name.endswith("_bucket")]
    assert len(buckets) > 10
    assert [count for _, count in buckets] == sorted(count for _, count in buckets)
    for bound_s, count in buckets:
        # The sketch knows a response time to one percent.
        assert (response_s <= bound_s * 0.98).sum() <= round(count) <= (response_s <= bound_s * 1.02).sum()
    total = {s.name.removeprefix("mead_response_seconds_"): s.value for s in found if "le" not in s.labels}
    assert total["count"] == pytest.approx(5000)
    assert total["sum"] == pytest.approx(response_s.sum())


def test_bounds_that_differ_in_the_last_digits_are_different_buckets() -> None:
    bounds_s = (0.3, 0.3000001)
    asked = [Requirement("parser>matcher", bounds_s[0]), Requirement("parser>matcher", bounds_s[1], percent=95.0)]
    board = Board(replace(runs.facts(), pipeline=runs.PIPELINE.with_requirements(asked)), wall_s=time.time)
    board.add(runs.simulated().rounds[0], {path: PathMonitor(()) for path in runs.PIPELINE.paths})
    buckets = [s for s in samples(board)["mead_response_seconds"] if s.name.endswith("_bucket")]
    le = [s.labels["le"] for s in buckets if s.labels["path"] == "parser>matcher"]
    assert len(set(le)) == len(le)
    assert set(bounds_s) <= {float(bound) for bound in le}


def test_the_dashboard_shows_every_metric_that_changes() -> None:
    panels = dashboard()["panels"]
    asked = " ".join(target["expr"] for panel in panels for target in panel["targets"])
    for metric in Metric:
        assert metric in OMITTED or metric.value.name in asked
    assert set(re.findall(r"\[(.*?)\]", asked)) == {"$__rate_interval"}, "a fixed window may hold one scrape"
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels]
    assert len(set(places)) == len(places)


def test_the_reference_page_is_made_from_the_list() -> None:
    written = (ROOT / "docs/reference/metrics.md").read_text()
    assert written == page(), "docs/reference/metrics.md is out of date: run `make docs`"


@needs_prometheus
def test_promtool_finds_no_fault_with_metrics_and_rules(tmp_path: Path) -> None:
    shown = exposition(runs.board(runs.simulated().rounds))
    check = subprocess.run(["promtool", "check", "metrics"], input=shown, check=False, capture_output=True)
    assert (check.returncode, check.stdout, check.stderr) == (0, b"", b"")
    rules = tmp_path / "alerts.yml"
    rules.write_text(alert_rules())
    check_rules = subprocess.run(["promtool", "check", "rules", rules], check=False, capture_output=True, text=True)
    assert check_rules.returncode == 0, check_rules.stderr
    assert "3 rules found" in check_rules.stdout


RAN, FINISHED = "0x10", "1x10"
KEPT, BROKEN, BROKEN_LATELY = "0.5x10", "1.5x10", "0.5x8 1.5x2"
TURNED, STOPPED = "0+60x10", "0x10"
THERE, GONE = "1x10", "1x4 0x5"
RAN_AND_WENT, FINISHED_AND_WENT = "0x4 stale", "0x3 1 stale"
KEPT_AND_WENT, TURNED_AND_WENT = "0.5x4 stale", "0+60x4 stale"


@needs_prometheus
@pytest.mark.parametrize(
    ("used", "last_round", "finished", "up", "fires"),
    [
        (KEPT, TURNED, RAN, THERE, set()),
        (BROKEN, TURNED, RAN, THERE, {"MeadRequirementBroken"}),
        (BROKEN_LATELY, TURNED, RAN, THERE, set()),
        (BROKEN, TURNED, FINISHED, THERE, set()),
        (KEPT, STOPPED, RAN, THERE, {"MeadControllerSilent"}),
        (KEPT, STOPPED, FINISHED, THERE, set()),
        (KEPT_AND_WENT, TURNED_AND_WENT, RAN_AND_WENT, GONE, {"MeadRunGone"}),
        (KEPT_AND_WENT, TURNED_AND_WENT, FINISHED_AND_WENT, GONE, set()),
    ],
)
def test_alerts_fire_when_they_should(
    tmp_path: Path, used: str, last_round: str, finished: str, up: str, fires: set[str]
) -> None:
    series = {
        'mead_requirement_used_ratio{job="mead", instance="a", path="p>q", statistic="mean"}': used,
        'mead_last_round_timestamp_seconds{job="mead", instance="a"}': last_round,
        'mead_round_interval_seconds{job="mead", instance="a"}': "1x10",
        'mead_run_finished{job="mead", instance="a"}': finished,
        'up{job="mead", instance="a"}': up,
    }
    assert fired(tmp_path, series) == fires


@needs_prometheus
def test_a_real_prometheus_scrapes_it(tmp_path: Path) -> None:
    board = runs.board(runs.simulated().rounds, wall_s=time.time)
    with serving(board, port=0) as address, prometheus(tmp_path, address) as asked:
        deadline = time.monotonic() + 60
        while not (found := answered(asked, "mead_rounds_total")):
            assert time.monotonic() < deadline, "nothing was scraped"
            time.sleep(0.2)
        assert float(found[0]["value"][1]) == board.totals.rounds
        assert answered(asked, "up")[0]["value"][1] == "1"
        shares = answered(asked, 'mead_share_cores{operator="matcher"}')
        last = board.last
        assert last is not None
        assert float(shares[0]["value"][1]) == last.operators["matcher"].share
        place = urlsplit(address).netloc
        expressions = [target["expr"] for panel in dashboard()["panels"] for target in panel["targets"]]
        for expression in expressions:
            query = expression.replace("$instance", place).replace("$__rate_interval", "10s")
            while not answered(asked, query):  # a rate needs two scrapes
                assert time.monotonic() < deadline, f"the panel stays empty: {query}"
                time.sleep(0.2)


@needs_prometheus
def test_a_real_prometheus_presents_the_token(tmp_path: Path) -> None:
    secret = tmp_path / "token"
    secret.write_text("0123456789abcdef\n")
    board = runs.board(runs.simulated().rounds, wall_s=time.time)
    with (
        serving(board, port=0, token=Token.read(secret)) as address,
        prometheus(tmp_path, address, authorization={"credentials_file": str(secret)}) as asked,
    ):
        deadline = time.monotonic() + PATIENCE_S
        while not answered(asked, "mead_rounds_total"):
            assert time.monotonic() < deadline, "nothing was scraped"
            time.sleep(0.2)


@contextmanager
def prometheus(folder: Path, address: str, **more: Any) -> Iterator[str]:
    """A server that scrapes that address twice a second; yields its own."""
    target = address.removeprefix("http://").rstrip("/")
    jobs = [{"job_name": "mead", "scrape_interval": "500ms", "static_configs": [{"targets": [target]}]} | more]
    (folder / "prometheus.yml").write_text(yaml.safe_dump({"scrape_configs": jobs}))
    program = str(shutil.which("prometheus"))
    with socket.create_server(("127.0.0.1", 0)) as free:
        place = f"127.0.0.1:{free.getsockname()[1]}"
    words = [
        f"--config.file={folder}/prometheus.yml",
        f"--storage.tsdb.path={folder}/data",
        f"--web.listen-address={place}",
    ]
    process = subprocess.Popen([program, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield f"http://{place}"
    finally:
        process.terminate()
        process.wait(20)


def answered(server: str, query: str) -> list[dict[str, list[str]]]:
    try:
        with urlopen(f"{server}/api/v1/query?query={quote(query)}", timeout=5) as answer:  # noqa: S310 - ours
            return list(json.load(answer)["data"]["result"])
    except OSError:
        return []
