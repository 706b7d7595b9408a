"""Queries that users have started: observed and controlled from outside."""
