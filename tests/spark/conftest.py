"""Fixtures of the live engine. The Spark session is in tests/conftest.py."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark import cloudpickle
from tests.spark import looped_operators
from tests.spark.sources.rabbitmq.broker import why_no_broker
from tests.waiting import PATIENCE_S

from mead.spark.sources.rabbitmq import broker as broker_module
from mead.spark.sources.rabbitmq.broker import PrivateBroker
from mead.spark.sources.rabbitmq.connection import Connection, RabbitError


@pytest.fixture
def _operators_by_value() -> Iterator[None]:
    """Workers cannot import tests."""
    cloudpickle.register_pickle_by_value(looped_operators)  # type: ignore[no-untyped-call]
    yield
    cloudpickle.unregister_pickle_by_value(looped_operators)  # type: ignore[no-untyped-call]


@pytest.fixture(scope="session")
def broker() -> Iterator[PrivateBroker]:
    """RabbitMQ on ports of its own, started when a test wants it."""
    if reason := why_no_broker():
        pytest.skip(reason)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(broker_module, "START_S", PATIENCE_S)
        with PrivateBroker() as running:
            yield running
    with pytest.raises(RabbitError, match="no connection"):
        Connection(running.url)
