"""KPC fitting: a MAP as the Kronecker product of two-state blocks."""
