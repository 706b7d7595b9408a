"""Fixtures and settings that all tests share, and the distribution of tests over processes."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings
from tests.paths import EXAMPLES, ROOT
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from mead.spark.sources.rabbitmq.broker import PrivateBroker

# Set before a test imports NumPy: the matrices are small, and a second BLAS thread costs more than it saves.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

# The same examples in every run, so that a failure can be repeated. No limit on time: a first call may compile, and the
# machine may be busy.
settings.register_profile("mead", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("mead")

ON_SPARK = "spark:"
"""Begins the name of a group of tests that start Spark."""

ASKS_FOR_SPARK = re.compile(r'\bspark: SparkSession\b|usefixtures\("spark"|mark\.spark\b')
"""In the source of a test file: its tests use the fixture, or start a Spark of their own."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Order the tests: those on Spark take longest and come first.

    Of these, tests that start a Spark of their own come before those that share a session: a process has one session
    at a time.
    """
    items.sort(key=lambda item: 0 if starts_spark(item) else 1 if shares_spark(item) else 2)


def starts_spark(item: pytest.Item) -> bool:
    """True for tests that start a Spark of their own, here or in another process."""
    return item.get_closest_marker("spark") is not None


def shares_spark(item: pytest.Item) -> bool:
    """True for tests that use the session below."""
    return "spark" in getattr(item, "fixturenames", ())


@cache
def group_of(nodeid: str) -> str:
    """The group of a test: its file. A page of the documentation on Spark is a group of its own."""
    file = nodeid.partition("::")[0]
    if not file.startswith("tests/"):
        return file
    if file == "tests/docs/test_snippets.py":
        return ON_SPARK + nodeid if "on_spark" in nodeid else file
    return ON_SPARK + file if ASKS_FOR_SPARK.search((ROOT / file).read_text()) else file


class SparkInFewProcesses(LoadScopeScheduling):  # type: ignore[misc]  # it has no types
    """Hands groups to free processes. All but one process may start Spark, each with one session."""

    def __init__(self, config: pytest.Config, log: Producer) -> None:
        super().__init__(config, log)
        self.on_spark: set[WorkerController] = set()

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)

    def _assign_work_unit(self, node: WorkerController) -> None:
        """Take the next file that this process may run; without one, end the process."""
        may_start = node in self.on_spark or len(self.on_spark) < max(1, len(self.nodes) - 1)
        scope = next((one for one in self.workqueue if may_start or not one.startswith(ON_SPARK)), None)
        if scope is None:
            node.shutdown()
            return
        if scope.startswith(ON_SPARK):
            self.on_spark.add(node)
        self.workqueue.move_to_end(scope, last=False)
        super()._assign_work_unit(node)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> SparkInFewProcesses:
    """Distribute tests with ``-n``."""
    return SparkInFewProcesses(config, log)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Count the skipped tests by reason."""
    skipped = Counter(report.longrepr[2].removeprefix("Skipped: ") for report in terminalreporter.getreports("skipped"))
    told = "; ".join(f"{number}: {reason}" for reason, number in skipped.most_common())
    terminalreporter.line(f"{skipped.total()} tests were skipped{told and f' ({told})'}.")


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A local session that all tests of a process share: a Java machine takes seconds to start."""
    from pyspark.sql import SparkSession
    from tests.spark.hurried import HURRIED

    from mead.spark.runtime.fast_profile import FastProfile

    builder = (
        SparkSession.builder.master("local[2,4]")  # four tries per task, as in production: tests kill workers
        .appName("tests")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "1g")
        .config("spark.log.level", "ERROR")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.python.authenticate.socketTimeout", "120s")  # a Python process on a busy machine
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(EXAMPLES), prepend=os.pathsep)  # workers import operators of the examples
        for module, name, value in HURRIED:
            patch.setattr(module, name, value)
        session = FastProfile().start(builder)
        yield session
        session.stop()


@pytest.fixture
def _operators_by_value() -> Iterator[None]:
    """Send the operators of the tests to workers, which cannot import tests."""
    from pyspark import cloudpickle
    from tests.spark import looped_operators

    cloudpickle.register_pickle_by_value(looped_operators)  # type: ignore[no-untyped-call]
    yield
    cloudpickle.unregister_pickle_by_value(looped_operators)  # type: ignore[no-untyped-call]


@pytest.fixture(scope="session")
def broker() -> Iterator[PrivateBroker]:
    """RabbitMQ on ports of its own, started when a test wants it."""
    from tests.spark.sources.rabbitmq.broker import why_no_broker
    from tests.waiting import PATIENCE_S

    from mead.spark.sources.rabbitmq import broker as broker_module
    from mead.spark.sources.rabbitmq.broker import PrivateBroker
    from mead.spark.sources.rabbitmq.connection import Connection, RabbitError

    if reason := why_no_broker():
        pytest.skip(reason)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(broker_module, "START_S", PATIENCE_S)
        with PrivateBroker() as running:
            yield running
    with pytest.raises(RabbitError, match="no connection"):
        Connection(running.url)
