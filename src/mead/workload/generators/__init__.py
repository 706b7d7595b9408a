"""Generators of arrivals. ``registry`` lists them by name."""
