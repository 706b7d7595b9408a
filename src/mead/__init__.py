"""MEAD for Spark: auto-scaling of streaming pipelines that knows how bursty the arrivals are."""

__version__ = "0.1.0.dev0"
