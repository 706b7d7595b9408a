"""Policies ``pasps``, ``psps`` and ``dabs``: replicas from forecasts."""
