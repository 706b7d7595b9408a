"""Policies: they decide what every operator is given. A folder holds one family, a module one policy."""

from __future__ import annotations

from mead.policies.base import KEPT_IATS, NotReady, Policy, PolicyOptions, Restart, decide, not_ready
from mead.policies.registry import DEFAULT, OWN, make_policy, options_class, policies, policy_names, register
from mead.policies.rules import within_limits

__all__ = [
    "DEFAULT",
    "KEPT_IATS",
    "OWN",
    "NotReady",
    "Policy",
    "PolicyOptions",
    "Restart",
    "decide",
    "make_policy",
    "not_ready",
    "options_class",
    "policies",
    "policy_names",
    "register",
    "within_limits",
]
