"""Compiled algorithms: dominance, the skyline, and the top-delta dominant skyline."""
