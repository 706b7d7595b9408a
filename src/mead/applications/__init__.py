"""Pipelines that ship, ready to run."""
