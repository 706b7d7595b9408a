"""Policies for comparison: ``static``, ``threshold``, ``ds2``."""
