"""A streaming query worked out second by second, and the event log that Spark would write about it.

This is not the model of the advice: rows are dealt to partitions, and every task waits for a free slot of its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from mead.arrays import FloatArray

START_S = 1_700_000_000.0
QUERY, RUN = "11111111-aaaa-bbbb-cccc-000000000001", "22222222-aaaa-bbbb-cccc-000000000002"


@dataclass(frozen=True)
class Work:
    """What a query costs."""

    partitions: int = 4
    per_row_s: float = 0.004
    per_task_s: float = 0.01
    planning_s: float = 0.05
    commit_s: float = 0.03
    record_s: float = 0.02
    trigger_s: float | None = None
    most_rows: int | None = None
    noise_s: float = 0.0
    """Mean of an exponential time that a commit takes longer."""


@dataclass
class Made:
    """One micro-batch: times in seconds."""

    rows: int
    start_s: float
    tasks: list[tuple[float, float]]
    end_s: float
    left: int
    arrived_s: FloatArray
    response_s: FloatArray = field(default_factory=lambda: np.empty(0))


def poisson(rate_per_s: float, lasts_s: float, seed: int = 1) -> FloatArray:
    """Times of arrivals."""
    rng = np.random.default_rng(seed)
    gaps_s = rng.exponential(1 / rate_per_s, int(1.2 * rate_per_s * lasts_s))
    times_s = START_S + np.cumsum(gaps_s)
    return times_s[times_s < START_S + lasts_s]


def run_query(arrivals_s: FloatArray, slots: int, work: Work) -> list[Made]:
    """Serve all rows in micro-batches, as Spark does."""
    made: list[Made] = []
    done, free_s = 0, START_S
    rng = np.random.default_rng(4)
    while done < arrivals_s.size:
        start_s = max(free_s, float(arrivals_s[done]))
        if work.trigger_s:
            last_s = made[-1].start_s if made else 0.0
            tick_s = (np.floor(last_s / work.trigger_s) + 1) * work.trigger_s
            start_s = max(free_s, float(tick_s))
            if arrivals_s[done] > start_s:
                start_s = float(np.ceil(arrivals_s[done] / work.trigger_s) * work.trigger_s)
        waiting = int(np.searchsorted(arrivals_s, start_s, side="right")) - done
        rows = min(waiting, work.most_rows or waiting)
        slot_s = np.full(slots, start_s + work.planning_s)
        tasks = []
        for part in range(work.partitions):
            share = len(range(part, rows, work.partitions))
            slot = int(slot_s.argmin())
            end_s = slot_s[slot] + work.per_task_s + share * work.per_row_s
            tasks.append((float(slot_s[slot]), float(end_s)))
            slot_s[slot] = end_s
        readable_s = float(slot_s.max()) + work.commit_s + rng.exponential(work.noise_s)
        taken_s = arrivals_s[done : done + rows]
        made.append(Made(rows, start_s, tasks, readable_s, waiting - rows, taken_s, readable_s - taken_s))
        done, free_s = done + rows, readable_s + work.record_s
    return made


def responses_s(made: Iterable[Made], skip: int = 0) -> FloatArray:
    """Response times of all rows, without some micro-batches at the start."""
    return np.concatenate([batch.response_s for batch in list(made)[skip:]])


def events(made: Sequence[Made], slots: int, work: Work, name: str = "scores") -> Iterator[dict[str, Any]]:
    """What Spark would log, as far as anybody reads it."""
    yield {"Event": "SparkListenerLogStart", "Spark Version": "4.3.0"}
    yield {"Event": "SparkListenerExecutorAdded", "Executor ID": "driver", "Executor Info": {"Total Cores": slots}}
    yield {"Event": "SparkListenerEnvironmentUpdate", "Spark Properties": {"spark.master": f"local[{slots}]"}}
    yield {"Event": "SparkListenerApplicationStart", "App Name": "shop", "App ID": "local-1", "Timestamp": 1}
    yield {"Event": f"{LISTENER}QueryStartedEvent", "id": QUERY, "runId": RUN, "name": name}
    for number, batch in enumerate(made):
        yield from batch_events(number, batch, work, name)
    yield {"Event": f"{LISTENER}QueryTerminatedEvent", "id": QUERY, "runId": RUN, "exception": None}
    yield {"Event": "SparkListenerApplicationEnd", "Timestamp": 2}


LISTENER = "org.apache.spark.sql.streaming.StreamingQueryListener$"


def batch_events(number: int, batch: Made, work: Work, name: str) -> Iterator[dict[str, Any]]:
    properties = {
        "sql.streaming.queryId": QUERY,
        "streaming.sql.batchId": str(number),
        "spark.jobGroup.id": RUN,
    }
    stages = [{"Stage ID": number, "RDD Info": [{"RDD ID": 1, "Scope": '{"name":"BatchEvalPython"}'}]}]
    yield {
        "Event": "SparkListenerJobStart",
        "Job ID": number,
        "Stage Infos": stages,
        "Stage IDs": [number],
        "Properties": properties,
    }
    yield {"Event": "SparkListenerStageSubmitted", "Stage Info": stages[0], "Properties": properties}
    for index, (start_s, end_s) in enumerate(batch.tasks):
        yield task_end(number, index, start_s, end_s)
    readable_ms = round(1e3 * (batch.end_s - batch.start_s))
    planning_ms = round(1e3 * work.planning_s)
    yield {
        "Event": f"{LISTENER}QueryProgressEvent",
        "progress": {
            "id": QUERY,
            "runId": RUN,
            "name": name,
            "timestamp": stamp(batch.start_s),
            "batchId": number,
            "durationMs": {
                "queryPlanning": planning_ms,
                "addBatch": readable_ms - planning_ms,
                "triggerExecution": readable_ms + round(1e3 * work.record_s),
            },
            "sources": [
                {
                    "numInputRows": batch.rows,
                    "endOffset": json.dumps({"topic": {"0": 7}}),
                    "latestOffset": json.dumps({"topic": {"0": 7 + batch.left}}),
                }
            ],
            "observedMetrics": {},
        },
    }


def task_end(
    stage: int,
    index: int,
    start_s: float,
    end_s: float,
    *,
    attempt: int = 0,
    speculative: bool = False,
    reason: str = "",
) -> dict[str, Any]:
    """The end of an attempt of a task; with a reason, of one that failed."""
    return {
        "Event": "SparkListenerTaskEnd",
        "Stage ID": stage,
        "Stage Attempt ID": 0,
        "Task End Reason": {"Reason": reason or "Success"},
        "Task Info": {
            "Index": index,
            "Attempt": attempt,
            "Partition ID": index,
            "Launch Time": round(1e3 * start_s),
            "Finish Time": round(1e3 * end_s),
            "Speculative": speculative,
            "Failed": reason == "ExceptionFailure",
            "Killed": reason == "TaskKilled",
        },
        "Task Metrics": {
            "Executor Run Time": round(1e3 * (end_s - start_s)),
            "Executor CPU Time": round(1e9 * (end_s - start_s) / 2),
        },
    }


def stamp(time_s: float) -> str:
    """A time as Spark writes it."""
    return datetime.fromtimestamp(round(time_s, 3), UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def as_lines(said: Iterable[dict[str, Any]]) -> bytes:
    """One event a line."""
    return b"".join(json.dumps(event, separators=(",", ":")).encode() + b"\n" for event in said)


def write_log(path: Path, slots: int = 2, work: Work | None = None, rate_per_s: float = 100.0, s: float = 60.0) -> Path:
    """Write the log of a query with Poisson arrivals; returns its path."""
    work = work or Work()
    path.write_bytes(as_lines(events(run_query(poisson(rate_per_s, s), slots, work), slots, work)))
    return path
