"""Preference queries on Spark: both stages and both levels of control in micro-batches."""
