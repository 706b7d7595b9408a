"""Policies that predict response times: ``mg1``, ``kingman``, ``map``, ``replay``."""
