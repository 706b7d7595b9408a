"""Generators of arrivals, one module per kind; ``registry`` has them all by name."""
