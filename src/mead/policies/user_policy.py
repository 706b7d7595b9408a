"""A policy that somebody else has written, named as ``module:Class`` in a pipeline file or on the command line."""

from __future__ import annotations

from math import inf
from typing import Any

from mead.keys import ConfigError
from mead.loading import named
from mead.policies.base import Policy
from mead.policies.options import OwnOptions


def own_policy(options: OwnOptions) -> Policy[Any]:
    """Make the policy, and refuse what is not one before anything runs. Raises ConfigError, in one line.

    >>> own_policy(OwnOptions(name="collections:Counter"))
    Traceback (most recent call last):
        ...
    mead.keys.ConfigError: collections:Counter is no policy: it has no method analyze
    """
    made = named(options.name)
    try:
        policy = made(**options.arguments)
    except (TypeError, ValueError, OSError) as error:
        raise ConfigError(f"{options.name} does not take these options: {error}") from error
    for method in ("analyze", "plan"):
        if not callable(getattr(policy, method, None)):
            raise ConfigError(f"{options.name} is no policy: it has no method {method}")
    if not isinstance(getattr(policy, "name", None), str):
        raise ConfigError(f"{options.name} is no policy: it has no name, which must be a text")
    interval_s = getattr(policy, "interval_s", None)
    if not isinstance(interval_s, int | float) or not 0 < interval_s < inf:
        raise ConfigError(f"{options.name} is no policy: its interval_s must be seconds above 0; got {interval_s!r}")
    checked: Policy[Any] = policy
    return checked
