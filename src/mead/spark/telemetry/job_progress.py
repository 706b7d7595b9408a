"""How far a Spark job has come, told while it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING, TypeAlias
from uuid import uuid4

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Onlooker: TypeAlias = Callable[[str, float], None]
"""A function that is told what is being done, and how much of it is done, from 0 to 1."""

POLL_S = 0.3


def silent(doing: str, done: float) -> None:
    """Tell nobody."""
    del doing, done


@contextmanager
def shown(spark: SparkSession, doing: str, progress: Onlooker) -> Iterator[None]:
    """While the block lasts, tell how many tasks are done of the jobs that this thread starts in it."""
    context = spark.sparkContext
    group = uuid4().hex
    context.setJobGroup(group, doing)
    ended = Event()

    def tell() -> None:
        while not ended.wait(POLL_S):
            progress(doing, done())

    def done() -> float:
        tracker = context.statusTracker()
        jobs = filter(None, map(tracker.getJobInfo, tracker.getJobIdsForGroup(group)))
        stages = [stage for job in jobs for stage in map(tracker.getStageInfo, job.stageIds) if stage is not None]
        return sum(stage.numCompletedTasks for stage in stages) / max(sum(stage.numTasks for stage in stages), 1)

    progress(doing, 0.0)
    teller = Thread(target=tell, name=f"progress of {doing}", daemon=True)
    teller.start()
    try:
        yield
    finally:
        ended.set()
        teller.join()
    progress(doing, 1.0)
