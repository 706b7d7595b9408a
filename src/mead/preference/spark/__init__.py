"""Preference queries on Spark, one micro-batch after the other."""
