"""All policies by name.

A policy registers itself when its module is imported; all modules of ``mead.policies`` are.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping
from importlib import import_module
from math import inf
from types import MappingProxyType
from typing import Any, TypeVar

from pydantic import ConfigDict, Field

import mead.policies
from mead.keys import ConfigError, Function, did_you_mean
from mead.loading import load_object
from mead.policies.base import Policy, PolicyOptions
from mead.policies.two_level import TwoLevel

OWN = "module:Class"
"""The place of a name in lists of policies for a class of the user's own."""

DEFAULT = "map"
"""The policy of a pipeline file that names none."""

Maker = TypeVar("Maker", bound=Callable[[Any], Policy])

_OPTIONS: dict[str, type[PolicyOptions]] = {}
_MAKERS: dict[type[PolicyOptions], Callable[[Any], Policy]] = {}


def register(options: type[PolicyOptions]) -> Callable[[Maker], Maker]:
    """Decorate a policy class, so that the name in its options stands for it everywhere.

    The name is the default of the key ``name``. A class may be registered for several names.
    """
    name = str(options.model_fields["name"].default)
    if name in _OPTIONS and _OPTIONS[name].__module__ != options.__module__:
        raise ValueError(f"there are two policies {name}: in {_OPTIONS[name].__module__} and {options.__module__}")

    def registered(maker: Maker) -> Maker:
        _OPTIONS[name], _MAKERS[options] = options, maker
        return maker

    return registered


def policies() -> Mapping[str, type[PolicyOptions]]:
    """The options of every policy by name, in alphabetical order, and those of the user's own last."""
    for module in pkgutil.walk_packages(mead.policies.__path__, f"{mead.policies.__name__}."):
        import_module(module.name)
    return MappingProxyType({name: _OPTIONS[name] for name in sorted(_OPTIONS, key=lambda name: (name == OWN, name))})


def policy_names() -> list[str]:
    """The names of all policies, without the user's own."""
    return [name for name in policies() if name != OWN]


def options_class(name: str) -> type[PolicyOptions]:
    """The options of a policy by its name, or those of a class. Raises ConfigError.

    >>> options_class("trheshold")
    Traceback (most recent call last):
        ...
    mead.keys.ConfigError: there is no policy 'trheshold'; did you mean threshold?
    """
    key = OWN if ":" in name else name
    if key not in _OPTIONS and key not in policies():
        near = did_you_mean(name, policies()) or f"; there are {', '.join(policies())}"
        raise ConfigError(f"there is no policy {name!r}{near}")
    return _OPTIONS[key]


def make_policy(options: PolicyOptions) -> Policy:
    """The policy that the options are for. Raises ConfigError if it is the user's own and cannot be made.

    >>> make_policy(options_class("threshold")(high=0.8)).interval_s
    10.0
    """
    policy = _MAKERS[type(options)](options)
    return TwoLevel(policy) if options.splits_queues else policy


class OwnOptions(PolicyOptions):
    """A policy of your own: a class whose arguments are the other keys."""

    model_config = ConfigDict(extra="allow")

    name: Function = Field(default=OWN, description="the class, module:Class")

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of the class."""
        return dict(self.__pydantic_extra__ or {})


@register(OwnOptions)
def own_policy(options: OwnOptions) -> Policy:
    """Make the policy, and refuse a class that is none before anything runs.

    The class is checked before it is called: any callable can be named, and some do damage.

    >>> own_policy(OwnOptions(name="collections:Counter"))
    Traceback (most recent call last):
        ...
    mead.keys.ConfigError: collections:Counter is not a policy: it has no method analyze
    """
    kind = load_object(options.name)
    if not isinstance(kind, type):
        raise ConfigError(f"{options.name} is not a policy: it is not a class")
    for method in ("analyze", "plan"):
        if not callable(getattr(kind, method, None)):
            raise ConfigError(f"{options.name} is not a policy: it has no method {method}")
    try:
        policy = kind(**options.arguments)
    except (TypeError, ValueError, OSError) as error:
        raise ConfigError(f"{options.name} does not take these options: {error}") from error
    if not isinstance(getattr(policy, "name", None), str):
        raise ConfigError(f"{options.name} is not a policy: `name` must be a string")
    interval_s = getattr(policy, "interval_s", None)
    if not isinstance(interval_s, int | float) or not 0 < interval_s < inf:
        raise ConfigError(f"{options.name} is not a policy: its interval_s must be seconds above 0; got {interval_s!r}")
    checked: Policy = policy
    return checked
