"""Event logs of Spark: what every application can write about itself (``spark.eventLog.enabled``)."""
