"""Reports on models: fits, characteristics of traces, solved queues and allocations."""
