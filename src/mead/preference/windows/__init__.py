"""Sliding windows made of panes: owners of partitions, and tasks of the window stage."""
