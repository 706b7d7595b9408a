"""Executors that come one after the other. How a real cluster answers is tested in test_local_cluster."""

from __future__ import annotations

from typing import cast

from mead.spark.cluster.executors import ExecutorNegotiator, Executors


class Cluster:
    """Executors of two cores, one of which comes or goes with every second that passes, up to the most there are."""

    cores = 2

    def __init__(self, most: int) -> None:
        self.most, self.wanted, self.number = most, 1, 1

    @property
    def running(self) -> tuple[str, ...]:
        return tuple(map(str, range(self.number)))

    def order_for_tasks(self, tasks: int) -> None:
        self.wanted = max(1, -(-tasks // self.cores))

    def wait(self, seconds: int) -> None:
        for _ in range(seconds):
            goal = min(self.wanted, self.most)
            self.number += (goal > self.number) - (goal < self.number)


def test_nobody_waits_for_executors_and_those_that_come_count_later() -> None:
    cluster = Cluster(most=10)
    negotiator = ExecutorNegotiator(cast("Executors", cluster))
    assert (negotiator.held, negotiator.request(5), negotiator.held) == (2, 0, 2)
    cluster.wait(1)
    assert negotiator.held == 4
    assert negotiator.request(3) == 0, "asked again, the same number is on its way"
    assert cluster.wanted == 4
    cluster.wait(9)
    assert negotiator.held == 8


def test_what_the_cluster_does_not_have_never_comes() -> None:
    cluster = Cluster(most=3)
    negotiator = ExecutorNegotiator(cast("Executors", cluster))
    negotiator.request(10)
    cluster.wait(60)
    assert negotiator.held == 6


def test_executors_that_are_not_needed_end() -> None:
    cluster = Cluster(most=10)
    negotiator = ExecutorNegotiator(cast("Executors", cluster))
    negotiator.request(6)
    cluster.wait(5)
    assert negotiator.release(3) == 0, "they end when they are ready"
    cluster.wait(5)
    assert negotiator.held == 6, "only a whole executor can go"


def test_what_is_on_its_way_is_withdrawn_with_whatever_is_given_back() -> None:
    cluster = Cluster(most=10)
    negotiator = ExecutorNegotiator(cast("Executors", cluster))
    negotiator.request(6)
    cluster.wait(1)
    assert negotiator.release(0) == 0
    cluster.wait(9)
    assert negotiator.held == 4
