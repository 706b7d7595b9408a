"""File formats of traces, one module each with ``read``, ``split`` and ``write``."""
