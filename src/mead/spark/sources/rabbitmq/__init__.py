"""RabbitMQ streams as sources and sinks of Spark, and a private broker.

Names load when they are first used, because Spark's Python workers import single modules of this room.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as in typing, which workers do not load

if TYPE_CHECKING:
    from mead.spark.sources.rabbitmq.broker import PrivateBroker as PrivateBroker
    from mead.spark.sources.rabbitmq.location import OPEN_STREAMS as OPEN_STREAMS
    from mead.spark.sources.rabbitmq.location import StreamLocation as StreamLocation
    from mead.spark.sources.rabbitmq.publisher import OutgoingMessage as OutgoingMessage
    from mead.spark.sources.rabbitmq.publisher import publish as publish
    from mead.spark.sources.rabbitmq.source import RabbitDataSource as RabbitDataSource
else:

    def __getattr__(name: str) -> object:
        """Import an exported name on first use."""
        from mead.exports import load_export  # noqa: PLC0415 - only now, so that the room itself loads nothing

        return load_export(__name__, name)
