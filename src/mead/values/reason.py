"""The reason for a plan: a cause that can be counted, the change, and facts with their numbers.

Reasons are compared and counted as values. Their words are made by ``str`` alone, here and in ``policies/reasons.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from mead.values.allocation import Allocation, Resources

SAME = 1e-9
"""Numbers of cores that differ by less are equal."""


class Cause(Enum):
    """The possible causes. The list is short and closed, because they label a metric."""

    NEEDED = "needed"
    SPARE = "spare"
    PLACED = "placed"
    ENOUGH = "enough"
    IMPOSSIBLE = "impossible"
    RULES = "rules"
    UNDER_WAY = "under_way"
    FIXED = "fixed"
    TOO_FEW = "too_few"
    UNUSABLE = "unusable"
    FAILED = "failed"
    OBSERVED = "observed"
    UNSAID = "unsaid"

    @property
    def meaning(self) -> str:
        """The meaning, for the documentation."""
        return MEANINGS[self]

    @classmethod
    def of(cls, now: Allocation, target: Allocation) -> Cause:
        """The cause that the step from ``now`` to ``target`` implies.

        >>> low, high = Allocation.of(a=Resources(0.4)), Allocation.of(a=Resources(0.7))
        >>> Cause.of(low, high).value, Cause.of(high, low).value, Cause.of(low, low).value
        ('needed', 'spare', 'enough')
        """
        if target == now:
            return cls.ENOUGH
        more = target.cores - now.cores
        if abs(more) < SAME:
            return cls.PLACED
        return cls.NEEDED if more > 0 else cls.SPARE


MEANINGS = {
    Cause.NEEDED: "the allocation in force would break a requirement, or is too little by the policy's own measure",
    Cause.SPARE: "less is enough",
    Cause.PLACED: "the same number of cores is of more use elsewhere",
    Cause.ENOUGH: "the allocation in force is the target",
    Cause.IMPOSSIBLE: "no allocation is enough; this one comes closest",
    Cause.RULES: "planning rules hold back all or a part of the target",
    Cause.UNDER_WAY: "the last order has not taken effect yet",
    Cause.FIXED: "the allocation is fixed in the options",
    Cause.TOO_FEW: "there are too few readings yet to decide",
    Cause.UNUSABLE: "readings were missing, implausible or empty",
    Cause.FAILED: "the round failed",
    Cause.OBSERVED: "mode observe decides nothing",
    Cause.UNSAID: "the policy gives no cause, or the round was recorded before causes were",
}


class Fact:
    """A part of a reason, with its numbers. ``str`` makes it a part of a sentence."""


@dataclass(frozen=True)
class Note(Fact):
    """A fact in words, from outside the policies of MEAD: a user's policy, an engine, an error."""

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Move:
    """A step from one allocation to another.

    >>> before = Allocation.of(parser=Resources(0.4), counter=Resources(1.0), matcher=Resources(0.5, 2))
    >>> print(Move(before, Allocation.of(parser=Resources(0.55), counter=Resources(0.7), matcher=Resources(0.5, 6))))
    Raise parser from 0.4 to 0.55 cores and matcher from 2 to 6 replicas, lower counter from 1.0 to 0.7 cores
    >>> print(Move(before, before))
    Keep the allocation
    """

    before: Allocation
    after: Allocation

    def __str__(self) -> str:
        verbs: dict[str, list[str]] = {"raise": [], "lower": [], "change": []}
        for name, now in self.before.items():
            if (then := self.after[name]) != now:
                more = then.cores - now.cores
                verb = "change" if abs(more) < SAME else "raise" if more > 0 else "lower"
                verbs[verb].append(f"{name} from {_from_to(now, then)}")
        parts = [f"{verb} {' and '.join(operators)}" for verb, operators in verbs.items() if operators]
        words = ", ".join(parts) or "keep the allocation"
        return words[0].upper() + words[1:]


def _from_to(now: Resources, then: Resources) -> str:
    if now.share == then.share:
        return f"{now.replicas} to {then.replicas} replicas"
    return f"{_given(now)} to {_given(then)} cores"


def _given(resources: Resources) -> str:
    share = f"{resources.share:.6g}"
    share = share if "." in share or "e" in share else f"{share}.0"
    return share if resources.replicas == 1 else f"{resources.replicas} x {share}"


@dataclass(frozen=True)
class Reason:
    """Why a plan is what it is.

    >>> low, high = Allocation.of(matcher=Resources(0.7)), Allocation.of(matcher=Resources(1.0))
    >>> print(Reason(Cause.NEEDED, (Note("397 tuples wait"), Note("352/s arrive")), Move(low, high)))
    Raise matcher from 0.7 to 1.0 cores: 397 tuples wait; 352/s arrive.
    >>> print(Reason(Cause.TOO_FEW, (Note("no tuple has arrived"),), Move(low, low)))
    Keep the allocation, because no tuple has arrived.
    """

    cause: Cause
    facts: tuple[Fact, ...] = ()
    move: Move | None = None
    """None as long as there is no plan."""
    target: Allocation | None = None
    """The target, if planning rules allow only a part of the way to it."""

    def __str__(self) -> str:
        why = "; ".join(map(str, self.facts))
        if self.move is None:
            return why
        target = "" if self.target is None else f" (target {self.target}; the planning rules allow less)"
        link = ", because " if self.move.before == self.move.after else ": "
        return f"{self.move}{target}{link if why else ''}{why}."
