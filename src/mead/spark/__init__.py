"""The live engine: pipelines as PySpark streaming queries."""
