"""Operators of the four applications: parse, classify by the nearest known event, notify, save.

A classifier answers one question about every event. It compares the words of the text with those of ``known`` events
whose answers are given, and takes the answer of the most similar one. So its cost grows with ``known``. In the
pipeline files, classifiers have the ratios of the authors' operators, which loop over arrays of numbers.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from event_classification.events import make_events, template_of

OUTPUT_SCHEMA = "id bigint, arrival_us bigint, who string, text string, labels string"
"""Columns of every operator. One that sends events different ways adds ``to array<string>``."""

NAMES = ("id", "arrival_us", "who", "text", "labels")

WORDS = 512
"""Numbers by which texts are described: how often each group of words occurs."""

FIRST_KNOWN = 10**12
"""The number of the first known event: no source comes that far."""


def parse(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Take the JSON of events apart.

    >>> event = '{"who": "user1", "text": "hello"}'
    >>> parse(pa.record_batch({"id": [1], "arrival_us": [2], "event": [event]})).to_pylist()
    [{'id': 1, 'arrival_us': 2, 'who': 'user1', 'text': 'hello', 'labels': ''}]
    """
    events = [json.loads(event) for event in batch["event"].to_pylist()]
    who, text = ([event[name] for event in events] for name in ("who", "text"))
    return _rows(batch, who, text, [""] * len(events))


def make_classifier(
    kind: str, question: str, known: int, to: Mapping[str, Sequence[str]] | None = None
) -> Callable[[pa.RecordBatch], pa.RecordBatch]:
    """Make a function that answers a question about every event, and adds the answer to its labels.

    ``to`` has the readers of events by their answer; events with other answers are dropped.
    """
    if known < 1:
        raise ValueError(f"known must be at least 1; got {known}")
    if question not in template_of(kind, 0).answers:
        raise ValueError(f"there is no question {question!r} about {kind}")
    return partial(_classify, kind, question, known, to)


def notify(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Name the user whom an event is about."""
    texts = batch["text"].to_pylist()
    whom = [next((word for word in text.split() if word.startswith("user")), "none") for text in texts]
    return _labelled(batch, "notify", whom)


def save(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Add the key under which a database keeps the event. The results of the pipeline are that database."""
    texts = zip(batch["who"].to_pylist(), batch["text"].to_pylist(), strict=True)
    return _labelled(batch, "key", [f"{crc32(f'{who} {text}'.encode()):08x}" for who, text in texts])


def _classify(
    kind: str, question: str, known: int, to: Mapping[str, Sequence[str]] | None, batch: pa.RecordBatch
) -> pa.RecordBatch:
    bank, lengths = _known_words(kind, known)
    words = _count_words(batch["text"].to_pylist())
    # Sums of products of small whole numbers are exact in any order, so that results do not depend on micro-batches.
    nearest = [int(np.argmax((bank @ row) / lengths)) for row in words]
    answers = [template_of(kind, FIRST_KNOWN + place).answers[question] for place in nearest]
    labelled = _labelled(batch, question, answers)
    if to is None:
        return labelled
    readers = [None if answer not in to else list(to[answer]) for answer in answers]
    kept = pa.array([place for place, one in enumerate(readers) if one is not None], pa.int64())
    routed = labelled.append_column("to", pa.array(readers, pa.list_(pa.string())))
    return routed.take(kept)


@lru_cache(maxsize=8)
def _known_words(kind: str, known: int) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float64]]:
    """The words of known events and the lengths of these vectors: made once per worker."""
    events = make_events(kind)(np.arange(FIRST_KNOWN, FIRST_KNOWN + known))["event"].to_pylist()
    words = _count_words([json.loads(event)["text"] for event in events])
    return words, np.sqrt((words.astype(np.float64) ** 2).sum(axis=1))


def _count_words(texts: Sequence[str]) -> npt.NDArray[np.float32]:
    counts = np.zeros((len(texts), WORDS), np.float32)
    for row, text in enumerate(texts):
        for word in text.split():
            counts[row, crc32(word.encode()) % WORDS] += 1
    return counts


def _labelled(batch: pa.RecordBatch, name: str, values: Sequence[str]) -> pa.RecordBatch:
    """Add a label to every event."""
    labels = [f"{old} {name}={new}".strip() for old, new in zip(batch["labels"].to_pylist(), values, strict=True)]
    return _rows(batch, batch["who"].to_pylist(), batch["text"].to_pylist(), labels)


def _rows(batch: pa.RecordBatch, who: Sequence[str], text: Sequence[str], labels: Sequence[str]) -> pa.RecordBatch:
    return pa.record_batch(
        [batch["id"], batch["arrival_us"], *(pa.array(column, pa.string()) for column in (who, text, labels))],
        names=list(NAMES),
    )
