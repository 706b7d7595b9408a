"""All policies by name, in one place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from mead.config.policies import OwnOptions, PolicyOptions, SlowKeys
from mead.plan.adaptive import Adaptive
from mead.plan.dabs import Dabs
from mead.plan.drs import DRS
from mead.plan.ds2 import DS2
from mead.plan.hybrid import hybrid
from mead.plan.kingman import Kingman
from mead.plan.map import Map
from mead.plan.mg1 import MG1
from mead.plan.own import own_policy
from mead.plan.pasps import PaSps
from mead.plan.policy import Policy
from mead.plan.replay import Replay
from mead.plan.static import Static
from mead.plan.threshold import Threshold
from mead.plan.two_level import TwoLevel

POLICIES: Mapping[str, Callable[[Any], Policy[Any]]] = MappingProxyType(
    {
        "static": Static,
        "threshold": Threshold,
        "mg1": MG1,
        "kingman": Kingman,
        "map": Map,
        "replay": Replay,
        "ds2": DS2,
        "drs": DRS,
        "pasps": PaSps,
        "psps": PaSps,
        "dabs": Dabs,
        "adaptive": Adaptive,
        "hybrid": hybrid,
    }
)
"""Every policy, made from its own options."""


def policy(options: PolicyOptions) -> Policy[Any]:
    """The policy that the options are for. Raises ConfigError if it is a user's own and cannot be made.

    >>> from mead.config.policies import ThresholdOptions
    >>> policy(ThresholdOptions(high=0.8)).interval_s
    10.0
    """
    if isinstance(options, OwnOptions):
        return own_policy(options)
    made = POLICIES[options.name](options)
    return TwoLevel(made) if isinstance(options, SlowKeys) and options.two_level else made
