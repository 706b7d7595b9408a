"""Commands that run a pipeline, or read past runs."""
