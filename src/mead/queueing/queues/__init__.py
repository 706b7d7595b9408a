"""One file per queueing model; each answers with a response time or with ``Unstable``."""
