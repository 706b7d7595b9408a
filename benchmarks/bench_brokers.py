"""Messages per second into a RabbitMQ stream and out of it, beside the embedded log, in the same process and run.

Without Spark: what a task does with its rows. One publisher, one reader, messages of 100 bytes with key and time of
arrival. The broker runs on the same machine and takes its share of the CPUs; rates are by the wall clock. What the end
of a stream costs is asked before every micro-batch. The last table is the CPU time of a tap, with the same publisher
and without the tap beside it.
"""

from __future__ import annotations

import os
import statistics
import tempfile
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter, process_time, sleep
from typing import TYPE_CHECKING
from uuid import uuid4

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

from mead.spark.log.stream_log import StreamLog
from mead.spark.log.tasks import write_number
from mead.spark.sources.rabbitmq.broker import PrivateBroker
from mead.spark.sources.rabbitmq.connection import RabbitError
from mead.spark.sources.rabbitmq.location import OPEN_STREAMS, StreamLocation
from mead.spark.sources.rabbitmq.publisher import OutgoingMessage, publish
from mead.spark.sources.rabbitmq.source import RabbitReader
from mead.spark.sources.rabbitmq.tap import RabbitTap

if TYPE_CHECKING:
    from benchmarks.common import table
else:  # run as a script, whose folder is where its imports come from
    from common import table

MESSAGES = 20_000
BATCH = 1000
ROUNDS = 3
ENDS = 50
TAP_S = 10
TAPPED_PER_S = (250, 1_000, 4_000)
BODY = b"x" * 100


def rates(work: Callable[[], int]) -> str:
    """Messages per second in each round: the median, and the range."""
    found = []
    for _ in range(ROUNDS):
        started_s = perf_counter()
        count = work()
        found.append(count / (perf_counter() - started_s))
    return f"{statistics.median(found):,.0f} ({min(found):,.0f} to {max(found):,.0f})"


def log_rates(folder: Path) -> tuple[str, str]:
    """Written, a file and a line of the index for each batch, and read."""
    log = StreamLog(folder)
    columns = {"id": pa.array(range(BATCH)), "arrival_us": pa.array(range(BATCH)), "value": pa.array([BODY] * BATCH)}
    rows = pa.record_batch({**columns, "key": pa.array([f"key {n}" for n in range(BATCH)])})
    batches = iter(range(ROUNDS * MESSAGES))

    def write() -> int:
        for _ in range(MESSAGES // BATCH):
            written = log.write([rows], rows.schema)
            log.commit(next(batches), [(written, None)])  # a line as the sink in Java writes it
        return MESSAGES

    def read() -> int:
        return sum(batch.num_rows for pieces in log.divide(0, MESSAGES, 1) for batch in log.read(pieces))

    return rates(write), rates(read)


def rabbit_rates(source: RabbitReader) -> tuple[str, str]:
    """Published until the last is confirmed, and read as rows."""

    def write() -> int:
        return publish(source.place, (OutgoingMessage(BODY, f"key {n}", n) for n in range(MESSAGES)))

    def read() -> int:
        parts = source.partitions({"offset": 0}, {"offset": MESSAGES})
        return sum(batch.num_rows for part in parts for batch in source.read(part))

    return rates(write), rates(read)


def end_ms(source: RabbitReader) -> tuple[float, float]:
    """What it takes to learn the end: when nothing has come, and when one message has."""
    offset = source.latestOffset(source.initialOffset(), None)
    started_s = perf_counter()
    for _ in range(ENDS):
        source.latestOffset(offset, None)
    idle_ms = 1e3 * (perf_counter() - started_s) / ENDS
    busy_ms: list[float] = []
    while len(busy_ms) < ENDS:
        publish(source.place, [OutgoingMessage(BODY)])
        while True:
            started_s = perf_counter()
            end = source.latestOffset(offset, None)
            took_ms = 1e3 * (perf_counter() - started_s)
            if end != offset:
                break
        busy_ms.append(took_ms)
        offset = end
    return idle_ms, statistics.median(busy_ms)


def paced(place: StreamLocation, per_s: int) -> None:
    """Publish messages at a steady rate, fifty times a second."""
    started_s = perf_counter()
    for tick in range(1, 50 * TAP_S + 1):
        count = per_s * tick // 50 - per_s * (tick - 1) // 50
        publish(place, (OutgoingMessage(BODY) for _ in range(count)))
        sleep(max(started_s + tick / 50 - perf_counter(), 0.0))


def broker_cpu_s(broker: PrivateBroker) -> float:
    """CPU seconds of the broker since its start."""
    fields = Path(f"/proc/{broker.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def tap_cost(broker: PrivateBroker) -> Table:
    """Cores of this process and of the broker, at some rates, without and with a tap; the publisher is another process.

    CPU time by the time in which the messages were due, so that a publisher that is late changes nothing.
    """
    result = table(
        f"A tap beside a publisher, cores: both in turn, median of {ROUNDS} rounds of {TAP_S} s",
        "messages per s",
        "driver, no tap",
        "driver, tap",
        "broker, no tap",
        "broker, tap",
        "counted",
    )
    for per_s in TAPPED_PER_S:
        rounds = [[tap_round(broker, per_s, tapped=tapped) for tapped in (False, True)] for _ in range(ROUNDS)]
        plain, tapped = (np.median(some, axis=0) for some in zip(*rounds, strict=True))
        cores = (plain[0], tapped[0], plain[1], tapped[1])
        result.add_row(f"{per_s:,}", *(f"{value:.3f}" for value in cores), f"{tapped[2]:.1%}")
    return result


def tap_round(broker: PrivateBroker, per_s: int, *, tapped: bool) -> tuple[float, float, float]:
    """Cores of this process and of the broker, and the part of the messages that the tap has counted."""
    place = StreamLocation(broker.url, f"tapped-{uuid4().hex}", create=True)
    publish(place, [OutgoingMessage(BODY)])
    publisher, tap, counted = get_context("spawn").Process(target=paced, args=(place, per_s)), RabbitTap(place), 0
    if tapped:
        tap.start(60.0)
    here_s, there_s, ended = process_time(), broker_cpu_s(broker), False
    publisher.start()
    while not ended:
        ended = not publisher.is_alive()
        sleep(1.0)  # as the monitor reads it
        counted += sum(stamps.rows for stamps in tap.read().arrivals)
    here_s, there_s = process_time() - here_s, broker_cpu_s(broker) - there_s
    tap.close()
    return here_s / TAP_S, there_s / TAP_S, counted / (per_s * TAP_S)


def main() -> None:
    """Print the tables."""
    result = table(f"{MESSAGES:,} messages, median of {ROUNDS} rounds", "stream", "written per s", "read per s")
    console = Console(width=120)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_number(folder / "tasks", 1)
        result.add_row("embedded log", *log_rates(folder / "log"))
        try:
            with PrivateBroker() as broker:
                source = RabbitReader(StreamLocation(broker.url, "bench", create=True), folder / "tasks")
                result.add_row("RabbitMQ stream", *rabbit_rates(source))
                idle_ms, busy_ms = end_ms(source)
                source.stop()
                tapped = tap_cost(broker)
                OPEN_STREAMS.drop()
        except RabbitError as error:
            console.print(result, f"No figures of RabbitMQ: {error}", sep="\n")
            return
    console.print(result)
    console.print(f"End of the RabbitMQ stream: {idle_ms:.3f} ms while nothing has come, {busy_ms:.1f} ms otherwise")
    console.print(tapped)


if __name__ == "__main__":
    main()
