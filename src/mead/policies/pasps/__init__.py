"""Pasps."""
