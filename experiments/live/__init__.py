"""Policies compared on Spark itself, in real time."""
