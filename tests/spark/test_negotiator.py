from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from mead.spark.negotiator import ExecutorNegotiator

PROGRAM = Path(__file__).with_name("negotiator_run.py")


class Cluster:
    """Executors of two cores, one of which comes with every second that passes, up to the most that there are."""

    cores = 2

    def __init__(self, most: int) -> None:
        self.most, self.wanted, self.number, self.time_s = most, 1, 1, 0.0

    @property
    def running(self) -> tuple[str, ...]:
        return tuple(map(str, range(self.number)))

    def for_tasks(self, tasks: int) -> None:
        self.wanted = max(1, -(-tasks // self.cores))

    def sleep(self, seconds: float) -> None:
        before, self.time_s = int(self.time_s), self.time_s + seconds
        if int(self.time_s) > before:
            goal = min(self.wanted, self.most)
            self.number += (goal > self.number) - (goal < self.number)

    def negotiator(self) -> ExecutorNegotiator:
        return ExecutorNegotiator(self, patience_s=10.0, now_s=lambda: self.time_s, sleep=self.sleep)


def test_executors_are_waited_for() -> None:
    cluster = Cluster(most=10)
    negotiator = cluster.negotiator()
    assert negotiator.held == 2
    assert negotiator.request(5) == 5  # three more executors
    assert negotiator.held == 8
    assert 3.0 <= cluster.time_s < 4.0


def test_what_does_not_come_in_time_is_not_granted() -> None:
    cluster = Cluster(most=3)
    assert cluster.negotiator().request(10) == 4
    assert cluster.time_s >= 10.0


def test_executors_that_are_not_needed_end() -> None:
    cluster = Cluster(most=10)
    negotiator = cluster.negotiator()
    negotiator.request(6)
    assert negotiator.release(3) == 2  # only a whole executor can go
    assert negotiator.held == 6


def test_a_cluster_of_two_executors_grants_no_third(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, str(PROGRAM)], check=False, capture_output=True, text=True, timeout=300, cwd=tmp_path
    )
    assert run.returncode == 0, run.stderr[-3000:]
    assert json.loads(run.stdout.splitlines()[-1]) == {"held": 2, "released": 1, "granted": 1, "held_at_last": 2}
