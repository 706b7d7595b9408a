"""Arrivals: traces read from files, and generators that make them."""
