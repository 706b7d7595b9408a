"""File formats of traces, one module each, with a ``read`` and a ``write``."""
