"""The live page of a run: its server, JSON, events and metrics."""
