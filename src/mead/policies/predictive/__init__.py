"""Predictive."""
