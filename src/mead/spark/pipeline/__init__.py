"""Pipelines that MEAD runs itself: one streaming query for each operator."""
