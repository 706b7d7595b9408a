"""From a window of inter-arrival times to the MAPs that describe it, best first."""
