"""What Spark says of a micro-batch, and what it might say that makes no sense."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mead.spark.telemetry.reports import BatchReport, ReportQueue

MESSAGE: dict[str, Any] = {
    "name": "parser",
    "runId": "0b2d9c1e",
    "timestamp": "2026-11-16T07:00:00.250Z",
    "batchId": 7,
    "numInputRows": 2,
    "durationMs": {
        "addBatch": 40,
        "commitOffsets": 3,
        "getBatch": 1,
        "latestOffset": 2,
        "queryPlanning": 5,
        "triggerExecution": 54,
        "walCommit": 2,
    },
    "sources": [{"endOffset": {"count": 120}, "latestOffset": {"count": 125}}],
    "observedMetrics": {"mead": {"rows": 9}},
}
STARTED_US = 1_794_812_400_250_000

NONSENSE = {
    "no JSON": "{",
    "something else": "7",
    "nothing": "null",
    "no name": json.dumps({key: value for key, value in MESSAGE.items() if key != "name"}),
    "no durations": json.dumps({**MESSAGE, "durationMs": None}),
    "a duration that is no number": json.dumps({**MESSAGE, "durationMs": {"addBatch": "long"}}),
    "a negative duration": json.dumps({**MESSAGE, "durationMs": {"addBatch": -5, "triggerExecution": 9}}),
    "a time that is none": json.dumps({**MESSAGE, "timestamp": "soon"}),
    "a time without a date": json.dumps({**MESSAGE, "timestamp": None}),
    "no number of rows": json.dumps({**MESSAGE, "numInputRows": None}),
    "a negative number of rows": json.dumps({**MESSAGE, "numInputRows": -1}),
    "a negative batch": json.dumps({**MESSAGE, "batchId": -1}),
    "sources that are none": json.dumps({**MESSAGE, "sources": 5}),
}


class Queue:
    """Stands for the one in Java."""

    def __init__(self, *messages: str) -> None:
        self.messages = messages

    def drain(self) -> str:
        return "".join(f"{message}\n" for message in self.messages)


def fetched(*messages: str) -> list[BatchReport]:
    queue = object.__new__(ReportQueue)
    queue._queue = Queue(*messages)
    return queue.fetch()


def test_a_message_tells_when_the_output_was_there_and_when_the_next_may_start() -> None:
    progress = BatchReport.parse(json.dumps(MESSAGE))
    assert (progress.query, progress.batch, progress.rows) == ("parser", 7, 2)
    assert progress.started_us == STARTED_US
    assert progress.done_us == STARTED_US + 50_000, "all but the commit"
    assert progress.took_s == 0.054
    assert progress.end_offset == {"count": 120}
    assert progress.latest_offset == {"count": 125}
    assert progress.observed == {"mead": {"rows": 9}}


def test_a_source_may_have_offsets_of_its_own_kind_or_none() -> None:
    progress = BatchReport.parse(json.dumps({**MESSAGE, "sources": [{"endOffset": 5, "latestOffset": None}]}))
    assert (progress.end_offset, progress.latest_offset) == ({}, None)
    assert BatchReport.parse(json.dumps({**MESSAGE, "sources": []})).end_offset == {}


def test_a_query_without_a_name_has_an_empty_one() -> None:
    assert BatchReport.parse(json.dumps({**MESSAGE, "name": None})).query == ""


@pytest.mark.parametrize("message", NONSENSE.values(), ids=NONSENSE.keys())
def test_a_message_that_makes_no_sense_is_left_out(message: str) -> None:
    good = json.dumps(MESSAGE)
    assert [progress.batch for progress in fetched(good, message, good)] == [7, 7]


def test_nothing_said_is_nothing_fetched() -> None:
    assert fetched() == []
