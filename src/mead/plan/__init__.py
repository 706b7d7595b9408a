"""From observations to allocations: one file per policy, and the searches and rules that they share."""
