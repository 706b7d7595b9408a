"""The experiments of the MEAD paper."""
