"""Compiled algorithms: dominance, skyline, top-delta dominant skyline."""
