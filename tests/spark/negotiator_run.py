"""A negotiator on a cluster of two executors: a program of its own, for a process has one Spark master at most."""

from __future__ import annotations

import json
import time

from mead.spark.executors import Executors
from mead.spark.negotiator import ExecutorNegotiator
from mead.spark.session import started

START_LIMIT_S = 120.0


def main() -> None:
    """Give one back, ask for three, and print what came of it."""
    spark = started("negotiator test", master="local-cluster[2,1,1024]")
    try:
        executors = Executors(spark)
        negotiator = ExecutorNegotiator(executors, patience_s=60.0)
        until_s = time.monotonic() + START_LIMIT_S
        while negotiator.held < 2 and time.monotonic() < until_s:
            time.sleep(0.25)
        held, released = negotiator.held, negotiator.release(1)
        granted = ExecutorNegotiator(executors, patience_s=30.0).request(3)
        found = {"held": held, "released": released, "granted": granted, "held_at_last": negotiator.held}
    finally:
        spark.stop()
    print(json.dumps(found))  # noqa: T201 - read by the test


if __name__ == "__main__":
    main()
