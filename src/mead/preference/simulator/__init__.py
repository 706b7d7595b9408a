"""Elastic-PPQ in virtual time: sixty workers on one core, with the cost model in place of the tuples' attributes."""
