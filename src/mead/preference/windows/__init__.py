"""Sliding windows made of panes: owners of tuples, tasks of windows."""
