"""The grounds of a decision: models, candidates, and the caution against the predictions."""

from __future__ import annotations

from dataclasses import dataclass

from mead.values.allocation import Allocation


@dataclass(frozen=True)
class Candidate:
    """A candidate allocation with its predictions or its cost."""

    allocation: Allocation
    response_s: tuple[float | None, ...] = ()
    """The prediction for each requirement of the pipeline, in their order; None for an overloaded path. Empty for a
    policy that does not predict single candidates."""
    extra_cost: float | None = None
    """Core-seconds that it costs more than the chosen one; None for a policy that does not compare costs."""
    considered: bool = True
    """False if the policy ruled it out: a bound was missed at any cost, so the operator gets all that it may have."""


@dataclass(frozen=True)
class Grounds:
    """Kept with every decision, so that it can be explained later."""

    models: tuple[str, ...] = ()
    """The models of arrivals and pipeline with their numbers, one sentence each."""
    candidates: tuple[Candidate, ...] = ()
    """The cheapest first; the chosen one is among them."""
    caution: float = 1.0
    """The factor by which bounds were tightened, because predictions were exceeded lately."""


NO_GROUNDS = Grounds()
