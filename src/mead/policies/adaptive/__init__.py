"""Policies ``adaptive`` and ``hybrid``: a decision every second, at a price found by looking ahead."""
