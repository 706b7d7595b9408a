"""One Spark session for all tests of the live engine, shared because a Java machine takes seconds to start."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from pyspark import cloudpickle
from tests.spark import looped_operators
from tests.spark.hurried import HURRIED
from tests.spark.sources.rabbitmq.broker import why_no_broker

from mead.spark.runtime.fast_profile import FastProfile
from mead.spark.sources.rabbitmq.broker import PrivateBroker
from mead.spark.sources.rabbitmq.connection import Connection, RabbitError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session", autouse=True)
def _hurried() -> Iterator[None]:
    """All runs in this process."""
    with pytest.MonkeyPatch.context() as patch:
        for module, name, value in HURRIED:
            patch.setattr(module, name, value)
        yield


@pytest.fixture
def _operators_by_value() -> Iterator[None]:
    """Workers cannot import tests."""
    cloudpickle.register_pickle_by_value(looped_operators)  # type: ignore[no-untyped-call]
    yield
    cloudpickle.unregister_pickle_by_value(looped_operators)  # type: ignore[no-untyped-call]


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A local session with the fast profile, a driver of 1 GB and no web page."""
    from pyspark.sql import SparkSession

    builder = (
        SparkSession.builder.master("local[2,4]")  # tasks are tried again, as in production: workers are killed here
        .appName("tests")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "1g")
        .config("spark.log.level", "ERROR")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.python.authenticate.socketTimeout", "120s")  # a Python process on a busy machine
    )
    session = FastProfile().start(builder)
    yield session
    session.stop()


@pytest.fixture(scope="session")
def broker() -> Iterator[PrivateBroker]:
    """RabbitMQ on ports of its own, started when a test wants it."""
    if reason := why_no_broker():
        pytest.skip(reason)
    with PrivateBroker() as running:
        yield running
    with pytest.raises(RabbitError, match="no connection"):
        Connection(running.url)
