"""Forecasts of the arrivals of the next interval."""
