"""The live engine: runs pipelines on Spark, and observes and controls queries of users."""
