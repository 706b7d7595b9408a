"""The processors of an application, from its master and settings; no Spark needed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from mead.spark.cluster.capacity import count_cores, find_capacity
from mead.values import Capacity


def context(master: str, **settings: str) -> Any:
    return SimpleNamespace(defaultParallelism=64, master=master, getConf=lambda: settings)


@pytest.fixture(autouse=True)
def _machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mead.spark.cluster.capacity.count_cpus", lambda: 2)


@pytest.mark.parametrize(
    ("master", "cores"), [("local[64]", 2), ("local-cluster[4,16,1024]", 2), ("spark://host:7077", 64), ("yarn", 64)]
)
def test_an_application_keeps_as_many_cores_busy_as_its_machines_have(master: str, cores: int) -> None:
    assert count_cores(context(master)) == cores


@pytest.mark.parametrize("master", ["local", "local[*]", "local[64,4]"])
def test_a_local_master_has_the_processors_of_the_machine(master: str) -> None:
    assert find_capacity(context(master)) == Capacity(2)


def test_a_task_on_a_cluster_takes_a_whole_processor() -> None:
    assert find_capacity(context("local-cluster[2,1,1024]")) == Capacity(2, divisible=False)
    assert find_capacity(context("spark://host:7077", **{"spark.cores.max": "12"})) == Capacity(12, divisible=False)


def test_dynamic_allocation_limits_a_cluster_only_if_it_is_on() -> None:
    settings = {"spark.dynamicAllocation.maxExecutors": "3", "spark.executor.cores": "4"}
    assert find_capacity(context("yarn", **settings)) is None
    on = settings | {"spark.dynamicAllocation.enabled": "true"}
    assert find_capacity(context("yarn", **on)) == Capacity(12, divisible=False)


def test_a_cluster_without_a_limit_is_asked_and_not_guessed() -> None:
    assert find_capacity(context("k8s://host")) is None
