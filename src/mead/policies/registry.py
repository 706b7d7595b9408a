"""All policies by name, in one place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from mead.policies.adaptive.hybrid import hybrid
from mead.policies.adaptive.policy import Adaptive
from mead.policies.base import Policy
from mead.policies.baselines.ds2 import DS2
from mead.policies.baselines.static import Static
from mead.policies.baselines.threshold import Threshold
from mead.policies.drs.policy import DRS
from mead.policies.options import OwnOptions, PolicyOptions, SlowKeys
from mead.policies.pasps.dabs import Dabs
from mead.policies.pasps.policy import PaSps
from mead.policies.predictive.kingman import Kingman
from mead.policies.predictive.map import Map
from mead.policies.predictive.mg1 import MG1
from mead.policies.predictive.replay import Replay
from mead.policies.two_level import TwoLevel
from mead.policies.user_policy import own_policy

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

    >>> from mead.policies.options import ThresholdOptions
    >>> policy(ThresholdOptions(high=0.8)).interval_s
    10.0
    """
    if isinstance(options, OwnOptions):
        return own_policy(options)
    made = POLICIES[options.name](options)
    return TwoLevel(made) if isinstance(options, SlowKeys) and options.two_level else made
