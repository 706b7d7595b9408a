"""Preference queries on Spark: panes, windows and both levels of control, one micro-batch after the other."""
