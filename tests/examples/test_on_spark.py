"""The applications of the DRS and PA-SPS papers live, by their pipeline files, under policies that scale replicas."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np
import pytest
from event_classification.events import make_events, template_of
from logo_detection.frames import logos_in
from tests.examples.pattern_detection.oracle import last_window, maximal
from tests.paths import EXAMPLES
from tests.spark import log_pipeline as logs

from mead.config import parse_pipeline
from mead.cpu import DryRunShares
from mead.policies import PolicyOptions
from mead.policies.drs.policy import DRSOptions
from mead.policies.pasps.policy import PaSpsOptions
from mead.session import LiveResult, Session
from mead.spark.pipeline.build import live_pipeline, load_source, load_work
from mead.spark.pipeline.query import last_finished
from mead.spark.pipeline.run import run_pipeline
from mead.spark.pipeline.running import WARM_UP
from mead.values import Knowledge

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow

DURATION_S = 4.0
WINDOW, THRESHOLD, LONGEST = 40, 5, 4
LOGOS, SHOWN = 16, 20


def ran(
    spark: SparkSession, application: str, policy: PolicyOptions, folder: Path, changed: Mapping[str, str]
) -> tuple[LiveResult, int]:
    """The pipeline file that ships, with a few numbers changed, and how many tuples its source has let in."""
    text = (EXAMPLES / f"{application}.yaml").read_text()
    for old, new in changed.items():
        assert old in text
        text = text.replace(old, new)
    file = parse_pipeline(text.encode())
    pipeline = live_pipeline(file.pipeline)
    source = load_source(file, EXAMPLES, folder, DURATION_S, folder / WARM_UP)
    with closing(DryRunShares([operator.name for operator in pipeline.operators])) as shares:
        result = run_pipeline(
            Session(pipeline, policy),
            spark,
            Knowledge(pipeline, 0.0),
            source,
            load_work(file, EXAMPLES),
            folder,
            shares,
            duration_s=DURATION_S,
        )
    last = last_finished(folder / "checkpoints" / pipeline.order[0])
    assert last is not None
    return result, last.end_offset["count"]


def test_patterns_under_drs_are_those_of_brute_force(spark: SparkSession, tmp_path: Path) -> None:
    changed = {"window: 1000": f"window: {WINDOW}", "threshold: 30": f"threshold: {THRESHOLD}"}
    result, posts = ran(spark, "pattern-detection", DRSOptions(interval_s=1.0, t_ra_s=0.0), tmp_path, changed)
    assert result.drained
    assert result.failed_rounds == 0
    assert posts > WINDOW, "posts have left the window"
    last: dict[str, tuple[int, bool]] = {}
    for row in logs.results(tmp_path, "reporter").to_pylist():
        last[row["pattern"]] = max(last.get(row["pattern"], (0, False)), (row["turn"], row["maximal"]))
    found = {pattern for pattern, (_, is_so) in last.items() if is_so}
    assert found == maximal(last_window(posts, WINDOW), THRESHOLD, LONGEST)
    assert result.responses["generator>detector>reporter"].total > 0


def test_logos_under_pasps_are_found_where_they_are(spark: SparkSession, tmp_path: Path) -> None:
    policy = PaSpsOptions(interval_s=1.0, sample_s=0.5, hold_down_s=0.0)
    result, frames = ran(spark, "logo-detection", policy, tmp_path, {"rate_per_s: 13": "rate_per_s: 3"})
    assert result.drained
    assert result.failed_rounds == 0
    rows = logs.results(tmp_path, "aggregator")
    there = {(n, logo) for n in range(frames) for logo in logos_in(n, SHOWN) if logo < LOGOS}
    assert there
    assert set(zip(rows["id"].to_pylist(), rows["logo"].to_pylist(), strict=True)) == there
    assert rows.num_rows == len(there), "each once, though its features were matched by several tasks"
    assert any(allocation["extractor"].replicas < 4 for _, allocation in result.timeline), "as few as it needs"


def labels_of(kind: str, number: int, questions: tuple[str, ...]) -> str | None:
    """The labels that an event must have in the end, by its template; None if it is dropped on its way."""
    event, answers = (
        json.loads(make_events(kind)(np.array([number]))["event"][0].as_py()),
        template_of(kind, number).answers,
    )
    labels = [f"{question}={answers[question]}" for question in questions]
    if not questions:  # the complex application: the way depends on the answers
        whom = next((word for word in event["text"].split() if word.startswith("user")), "")
        ways = {
            "users": [f"mood={answers['mood']}", f"notify={whom}"],
            "opinion": ["news=opinion", f"mood={answers['mood']}", f"topic={answers['topic']}"],
            "report": ["news=report", f"topic={answers['topic']}"],
        }
        section = answers["section"]
        if section == "spam":
            return None
        labels = [f"section={section}", *ways["users" if section == "users" else answers["news"]]]
    key = crc32(" ".join([event["who"], event["text"]]).encode())
    return " ".join([*labels, f"key={key:08x}"])


@pytest.mark.parametrize(
    ("application", "kind", "questions"),
    [
        ("tweet-classification", "tweets", ("spam", "topic")),
        ("dns-classification", "dns", ("malicious", "purpose")),
        ("log-classification", "logs", ("template", "severity")),
        ("news-classification", "tweets", ()),
    ],
)
def test_events_under_pasps_are_classified_as_they_were_made(
    spark: SparkSession, tmp_path: Path, application: str, kind: str, questions: tuple[str, ...]
) -> None:
    policy = PaSpsOptions(interval_s=1.0, sample_s=0.5, predictor="lr", hold_down_s=0.0)
    result, events = ran(spark, application, policy, tmp_path, {"known: 8000": "known: 200"})
    assert result.drained
    assert result.failed_rounds == 0
    rows = logs.results(tmp_path, "save")
    expected = {number: labels_of(kind, number, questions) for number in range(events)}
    there = {number: labels for number, labels in expected.items() if labels is not None}
    assert there
    assert dict(zip(rows["id"].to_pylist(), rows["labels"].to_pylist(), strict=True)) == there
    assert rows.num_rows == len(there), "each once, though several tasks claim parts of a micro-batch"
    assert all(len(list((tmp_path / "grouping" / name).glob("*.times"))) for name in result.pipeline.order)
