"""When executors are asked for and let go. How a real cluster answers is tested in test_local_cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mead.spark.cluster import executors as executors_module
from mead.spark.cluster.executors import Executors, SlidingMaximum

LENGTH_S = 10.0


@given(st.lists(st.tuples(st.floats(0.0, 6.0), st.integers(0, 5))))
def test_the_highest_is_that_of_the_last_seconds(steps: list[tuple[float, int]]) -> None:
    now_s, seen = 0.0, list[tuple[float, int]]()
    highest = SlidingMaximum(LENGTH_S, lambda: now_s)
    for pause_s, value in steps:
        now_s += pause_s
        seen.append((now_s, value))
        assert highest.add(value) == max(old for time_s, old in seen if time_s >= now_s - LENGTH_S)


def test_a_plan_that_goes_up_and_down_changes_nothing() -> None:
    now_s = 0.0
    highest = SlidingMaximum(LENGTH_S, lambda: now_s)
    held = []
    for second in range(60):
        now_s = float(second)
        held.append(highest.add(1 + second % 2))
    assert set(held[1:]) == {2}
    assert len(highest._falling) <= 2, "what cannot become the highest is forgotten"


class ScalaList:
    """A sequence as Java hands it out."""

    def __init__(self, values: Sequence[Any]) -> None:
        self._values = values

    def size(self) -> int:
        return len(self._values)

    def apply(self, place: int) -> Any:
        return self._values[place]


def _summary(name: str, cores: int, tasks: int) -> Any:
    """What Spark says of an executor."""
    return SimpleNamespace(id=lambda: name, totalCores=lambda: cores, activeTasks=lambda: tasks)


class Cluster:
    """A cluster with room for many, by the rules of Spark's CoarseGrainedSchedulerBackend.

    It starts executors while fewer run than are wanted. With each that it is told to kill, it wants one fewer.
    """

    def __init__(self, running: int, cores: int = 1, settings: Mapping[str, str] | None = None) -> None:
        self.target, self.cores, self.settings = running, cores, settings or {}
        self.tasks = {str(n): 0 for n in range(running)}
        self.started = running
        self.refuses = self.broken = False
        self.unknown = ""
        """One of which no summary has been made yet."""

    @property
    def spark(self) -> Any:
        """As much of a session as is asked."""
        same = SimpleNamespace(toScalaMap=lambda some: some, toSeq=lambda some: some)
        conf = SimpleNamespace(get=self.settings.get)
        java = SimpleNamespace(sc=lambda: self)
        context = SimpleNamespace(_jsc=java, _jvm=SimpleNamespace(PythonUtils=same), getConf=lambda: conf)
        return SimpleNamespace(sparkContext=context)

    def isLocal(self) -> bool:
        return False

    def getExecutorIds(self) -> ScalaList:
        return ScalaList(list(self.tasks))

    def statusStore(self) -> Any:
        known = [_summary(one, self.cores, busy) for one, busy in self.tasks.items() if one != self.unknown]
        summaries = [_summary("driver", 0, 0), *known]
        return SimpleNamespace(executorList=lambda _: ScalaList(summaries))

    def requestTotalExecutors(self, number: int, _: int, __: object) -> bool:
        if self.broken:
            raise ConnectionError("the driver's endpoint does not answer")
        if self.refuses:
            return False
        self.target = number
        self._fill()
        return True

    def killExecutors(self, ids: Sequence[str]) -> bool:
        for one in ids:
            del self.tasks[one]
            self.target = max(self.target - 1, 0)
        self._fill()
        return True

    def die(self, one: str) -> None:
        """By itself: what is missing then is started."""
        del self.tasks[one]
        self._fill()

    def _fill(self) -> None:
        while len(self.tasks) < self.target:
            self.tasks[str(self.started)] = 0
            self.started += 1


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not wanted goes at once."""
    monkeypatch.setattr(executors_module, "HOLD_S", 0.0)


@pytest.mark.parametrize(("running", "tasks"), [(2, 1), (3, 2), (5, 1)])
def test_one_that_dies_after_others_were_let_go_is_replaced(running: int, tasks: int) -> None:
    cluster = Cluster(running)
    executors = Executors(cluster.spark)
    executors.follow(tasks)
    assert (len(executors.running), cluster.target) == (tasks, tasks)
    cluster.die(executors.running[0])
    assert len(executors.running) == tasks


def test_those_with_the_fewest_tasks_go_and_none_comes_in_their_place() -> None:
    cluster = Cluster(4)
    executors = Executors(cluster.spark)
    cluster.tasks.update({"0": 2, "1": 0, "2": 1, "3": 0})
    executors.follow(2)
    assert executors.running == ("0", "2")
    assert cluster.started == 4


def test_one_that_has_just_come_and_is_not_summed_up_yet_may_go_first() -> None:
    cluster = Cluster(2)
    executors = Executors(cluster.spark)
    cluster.tasks["0"], cluster.unknown = 1, "1"
    executors.follow(1)
    assert executors.running == ("0",)


def test_an_order_that_failed_is_given_again() -> None:
    cluster = Cluster(1)
    executors = Executors(cluster.spark)
    cluster.broken = True
    with pytest.raises(ConnectionError):
        executors.follow(3)
    cluster.broken = False
    executors.follow(3)
    assert len(executors.running) == 3


def test_a_cluster_that_refused_once_is_asked_again_and_is_still_no_local_machine() -> None:
    cluster = Cluster(1)
    executors = Executors(cluster.spark)
    cluster.refuses = True
    executors.follow(3)
    assert (len(executors.running), executors.local) == (1, False)
    cluster.refuses = False
    executors.follow(3)
    assert len(executors.running) == 3


@pytest.mark.parametrize(
    ("settings", "executors"), [({}, 2), ({"spark.executor.cores": "2"}, 4)], ids=["of a whole worker", "as told"]
)
def test_tasks_need_as_many_executors_as_have_cores_for_them(settings: dict[str, str], executors: int) -> None:
    cluster = Cluster(1, cores=4, settings=settings)
    Executors(cluster.spark).follow(8)
    assert cluster.target == executors
