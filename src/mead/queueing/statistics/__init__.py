"""Statistics of inter-arrival times and counts."""
