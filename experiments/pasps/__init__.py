"""The experiments of the PA-SPS paper."""
