"""The decision of a policy, with its reason and the predictions behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self

from mead.values.allocation import Allocation
from mead.values.grounds import NO_GROUNDS, Grounds
from mead.values.reason import Cause, Fact, Move, Note, Reason


@dataclass(frozen=True)
class Prediction:
    """The expected response time of a path; None where the model gives no such number or sees overload."""

    mean_s: float | None
    p95_s: float | None = None
    stable: bool = True


@dataclass(frozen=True)
class Plan:
    """The allocation to apply, and the reason. A plan that changes nothing has a reason too."""

    allocation: Allocation
    target: Allocation
    """The allocation that the policy wants; planning rules may allow only a part of the way to it."""
    reason: Reason
    predicted: Mapping[str, Prediction] = field(default_factory=dict)
    """By path, for ``allocation``."""
    grounds: Grounds = NO_GROUNDS
    """The models and candidates, so that the decision can be explained later."""
    kept_mean_s: Mapping[str, float | None] = field(default_factory=dict)
    """By path, the mean response time that the model predicts if nothing changes; None where it sees overload.

    In mode advise, observations are compared with this. Empty for a policy that does not ask its model."""

    @classmethod
    def keep(cls, allocation: Allocation, reason: Reason | str, cause: Cause = Cause.UNSAID) -> Self:
        """Leave everything as it is. A reason in words gets the ``cause``."""
        if isinstance(reason, str):
            reason = Reason(cause, (Note(reason),))
        return cls(allocation, allocation, replace(reason, move=Move(allocation, allocation)))

    @classmethod
    def move(cls, now: Allocation, target: Allocation, *facts: Fact | str, cause: Cause | None = None) -> Self:
        """Go from one allocation to another at once. Without a ``cause``, the step implies it."""
        known = tuple(Note(fact) if isinstance(fact, str) else fact for fact in facts)
        return cls(target, target, Reason(cause or Cause.of(now, target), known, Move(now, target)))
