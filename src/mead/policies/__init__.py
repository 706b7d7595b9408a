"""Policies: they decide what every operator is given. A folder holds one family, a module one policy."""

from __future__ import annotations

from mead.policies.base import KEPT_IATS, Policy, PolicyOptions, Restart
from mead.policies.registry import DEFAULT, OWN, make_policy, options_class, policies, policy_names, register

__all__ = [
    "DEFAULT",
    "KEPT_IATS",
    "OWN",
    "Policy",
    "PolicyOptions",
    "Restart",
    "make_policy",
    "options_class",
    "policies",
    "policy_names",
    "register",
]
