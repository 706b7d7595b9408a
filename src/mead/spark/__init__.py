"""The live engine: runs pipelines on Spark, and controls queries of users."""
