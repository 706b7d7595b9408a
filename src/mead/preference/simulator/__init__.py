"""Elastic-PPQ in virtual time, with a cost model in place of the tuples."""
