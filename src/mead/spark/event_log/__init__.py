"""Event logs of Spark: what every application can write about itself (``spark.eventLog.enabled``)."""

from mead.spark.event_log.files import EventLogError
from mead.spark.event_log.reader import ApplicationLog, read_event_log

__all__ = ["ApplicationLog", "EventLogError", "read_event_log"]
