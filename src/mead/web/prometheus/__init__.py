"""The metrics of a run for Prometheus, with alert rules and a dashboard."""
