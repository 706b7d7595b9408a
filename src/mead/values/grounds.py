"""What a decision was made on: models, the alternatives that were weighed, and how far predictions were trusted."""

from __future__ import annotations

from dataclasses import dataclass

from mead.values.allocation import Allocation


@dataclass(frozen=True)
class Candidate:
    """An allocation that was weighed, and what spoke for or against it."""

    allocation: Allocation
    response_s: tuple[float | None, ...] = ()
    """For each requirement of the pipeline, in their order, what was predicted; None where the path would be
    overloaded. Empty for a policy that does not predict single candidates."""
    extra_cost: float | None = None
    """Core-seconds that it would cost more than what was chosen, for a policy that weighs by cost; None for others."""


@dataclass(frozen=True)
class Grounds:
    """Kept with every decision, so that it can be explained when it is long past."""

    models: tuple[str, ...] = ()
    """What was believed of the arrivals and of the pipeline, with the numbers, one sentence each."""
    candidates: tuple[Candidate, ...] = ()
    """The cheapest first; the chosen one is among them."""
    caution: float = 1.0
    """How many times tighter bounds were taken, because predictions were exceeded lately."""


NO_GROUNDS = Grounds()
