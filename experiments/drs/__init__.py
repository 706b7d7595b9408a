"""The experiments of the DRS paper."""
