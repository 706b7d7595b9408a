"""A pipeline with joins and a loop, and what must come out of it, computed without Spark."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from mead.queueing import Edge
from mead.spark.pipeline.operators import OnBatches, OnKeys, Work
from mead.values import Batches, Operator, Pipeline

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

NUMBERS = "id bigint, arrival_us bigint, value bigint"
ROUTED = f"{NUMBERS}, rounds int, to array<string>"


def start(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Every number, for the branch of its parity; multiples of five for both."""
    ids = batch["id"].to_pylist()
    to = [None if n % 5 == 0 else ["even"] if n % 2 == 0 else ["odd"] for n in ids]
    columns = [batch["id"], batch["arrival_us"], batch["id"], pa.array(to, pa.list_(pa.string()))]
    return pa.record_batch(columns, names=["id", "arrival_us", "value", "to"])


START = f"{NUMBERS}, to array<string>"


def halve(batch: pa.RecordBatch) -> pa.RecordBatch:
    return pa.record_batch(
        [batch["id"], batch["arrival_us"], pc.divide(batch["value"], 2)], names=["id", "arrival_us", "value"]
    )


def halve_and_count(batch: pa.RecordBatch, seen: MutableMapping[int, int]) -> pa.RecordBatch:
    """The same, with how often each number has come as state."""
    for number in batch["id"].to_pylist():
        seen[number] = seen.get(number, 0) + 1
    return halve(batch)


COUNTED = OnKeys(halve_and_count, NUMBERS, keys=("id",), state="seen bigint")


def negate(batch: pa.RecordBatch) -> pa.RecordBatch:
    """With a column that the other branch has not."""
    marks = pa.array([True] * batch.num_rows, pa.bool_())
    columns = [batch["id"], batch["arrival_us"], pc.negate(batch["value"]), marks]
    return pa.record_batch(columns, names=["id", "arrival_us", "value", "negative"])


NEGATED = f"{NUMBERS}, negative boolean"


def down(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Numbers above zero go round again, three less, and count how often; what is negative is done at once."""
    values, rounds = batch["value"].to_pylist(), [0] * batch.num_rows
    if "rounds" in batch.schema.names:
        rounds = [n or 0 for n in batch["rounds"].to_pylist()]
    to = [["loop"] if v > 0 else ["results"] for v in values]
    lower = [v - 3 if v > 0 else v for v in values]
    counts = [n + (v > 0) for n, v in zip(rounds, values, strict=True)]
    columns = [batch["id"], batch["arrival_us"], lower, pa.array(counts, pa.int32()), to]
    schema = pa.schema(
        [
            ("id", pa.int64()),
            ("arrival_us", pa.int64()),
            ("value", pa.int64()),
            ("rounds", pa.int32()),
            ("to", pa.list_(pa.string())),
        ]
    )
    return pa.RecordBatch.from_arrays(
        [pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)], schema=schema
    )


def down_stream(stream: DataFrame) -> DataFrame:
    """The same in Spark's terms."""
    return stream.selectExpr(
        "id",
        "arrival_us",
        "if(value > 0, value - 3, value) as value",
        "cast(coalesce(rounds, 0) + if(value > 0, 1, 0) as int) as rounds",
        "array(if(value > 0, 'loop', 'results')) as to",
    )


DOWN = OnBatches(down, ROUTED)


def work(loop: Work = DOWN) -> dict[str, Work]:
    """Of all operators."""
    return {
        "start": OnBatches(start, START),
        "even": OnBatches(halve, NUMBERS),
        "odd": OnBatches(negate, NEGATED),
        "loop": loop,
    }


def pipeline(replicas: int) -> Pipeline:
    edges = [
        Edge("start", "even", 0.6),
        Edge("start", "odd", 0.6),
        Edge("even", "loop"),
        Edge("odd", "loop"),
        Edge("loop", "loop", 0.9),
    ]
    batches = Batches(overhead_s=0.1)
    return Pipeline("joined", [Operator(name, 0.001, max_replicas=replicas, batches=batches) for name in work()], edges)


def branches(numbers: int) -> list[tuple[int, int]]:
    """Id and value of what reaches the loop."""
    even = [(n, int(n / 2)) for n in range(numbers) if n % 2 == 0 or n % 5 == 0]
    odd = [(n, -n) for n in range(numbers) if n % 2 == 1 or n % 5 == 0]
    return even + odd


def expected(numbers: int) -> list[tuple[int, int, int]]:
    """Id, value and rounds of every result."""
    results = []
    for number, value in branches(numbers):
        rounds = max(0, -(-value // 3))
        results.append((number, value - 3 * rounds, rounds))
    return sorted(results)
