"""Elastic-PPQ: skyline and top-delta queries over sliding windows, split and scaled while they run."""
