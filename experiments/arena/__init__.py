"""The arena: every policy on every workload, ranked."""
