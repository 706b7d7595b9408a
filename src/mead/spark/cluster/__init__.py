"""Executors of an application on a cluster."""
