"""What a policy decides, with the reason and the numbers behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mead.values.allocation import Allocation
from mead.values.grounds import NO_GROUNDS, Grounds
from mead.values.reason import Because


@dataclass(frozen=True)
class Prediction:
    """What a path's response time is expected to be; None where the model gives no such number or sees overload."""

    mean_s: float | None
    p95_s: float | None = None
    stable: bool = True


@dataclass(frozen=True)
class Plan:
    """The allocation to apply, and why. A plan that changes nothing has a reason too.

    ``target`` is what the policy would have liked before bounds and planning rules; the two differ for example where
    shares may fall by one level per round only.
    """

    allocation: Allocation
    target: Allocation
    reason: str
    predicted: Mapping[str, Prediction] = field(default_factory=dict)
    """By path, for ``allocation``."""
    grounds: Grounds = NO_GROUNDS
    """What the decision was based on, so that it can be explained later."""
    kept_mean_s: Mapping[str, float | None] = field(default_factory=dict)
    """By path, the mean response time that the same model predicts for what is in force; None where it sees overload.

    Where nobody follows the plan, observations are compared with this. Empty for a policy that does not ask its
    model."""
    because: Because = Because.UNSAID
    """The reason in one word, which can be counted."""

    @classmethod
    def keep(cls, allocation: Allocation, why: str, because: Because = Because.UNSAID) -> Plan:
        """Leave everything as it is."""
        return cls(allocation, allocation, f"keep, because {why}", because=because)
