"""Commands on traces, queues and plans."""
