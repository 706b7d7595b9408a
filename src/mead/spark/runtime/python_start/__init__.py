"""Python start."""
