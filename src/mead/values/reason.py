"""Why a round decided what it did, in one of a few words that can be counted. A plan's reason tells it with numbers."""

from __future__ import annotations

from enum import Enum

from mead.values.allocation import Allocation

SAME = 1e-9
"""Numbers of cores that differ by less than this count as equal."""


class Because(Enum):
    """The possible reasons. The list is short and closed, because they label a metric."""

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
        """In words, for the documentation."""
        return MEANINGS[self]

    @classmethod
    def of(cls, now: Allocation, wanted: Allocation) -> Because:
        """The reason that the step from ``now`` to ``wanted`` implies.

        >>> from mead.values.allocation import Resources
        >>> low, high = Allocation.of(a=Resources(0.4)), Allocation.of(a=Resources(0.7))
        >>> Because.of(low, high).value, Because.of(high, low).value, Because.of(low, low).value
        ('needed', 'spare', 'enough')
        """
        if wanted == now:
            return cls.ENOUGH
        more = wanted.cores - now.cores
        if abs(more) < SAME:
            return cls.PLACED
        return cls.NEEDED if more > 0 else cls.SPARE


MEANINGS = {
    Because.NEEDED: "what is in force is too little: a requirement would be broken, or the policy's own measure",
    Because.SPARE: "less is enough",
    Because.PLACED: "as many cores are enough, and are of more use elsewhere",
    Because.ENOUGH: "what is in force is what is wanted",
    Because.IMPOSSIBLE: "nothing that may be had is enough; this comes closest",
    Because.RULES: "planning rules hold back what is wanted, all or a part of it",
    Because.UNDER_WAY: "what was ordered has not come yet",
    Because.FIXED: "somebody has fixed the allocation",
    Because.TOO_FEW: "too little has been seen to decide by",
    Because.UNUSABLE: "readings were missing, could not be true or told nothing",
    Because.FAILED: "the round failed",
    Because.OBSERVED: "nothing is decided in mode observe",
    Because.UNSAID: "the policy does not say, or the round was written before there was this",
}
