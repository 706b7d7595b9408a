"""The experiments of the Elastic-PPQ paper."""
