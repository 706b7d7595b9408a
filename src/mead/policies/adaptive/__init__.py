"""Adaptive."""
