"""What a live run has to know of its machine before it begins: whether shares can be set, and how soon one acts."""

from __future__ import annotations

from dataclasses import dataclass

from mead.execute.detect import Detection, detect
from mead.execute.limit import PERIOD_US
from mead.execute.share_probe import actuation_delay_s
from mead.knowledge.knowledge import Knowledge
from mead.knowledge.pipeline import Pipeline


@dataclass(frozen=True)
class Preparation:
    """What was found, and what follows from it."""

    found: Detection
    acts: bool
    """Whether orders are given: somebody wants them, and they can be followed."""
    knowledge: Knowledge


def prepared(pipeline: Pipeline, *, act: bool, said: Knowledge | None = None) -> Preparation:
    """Look whether shares can be set, where somebody wants to ``act``, and measure how soon a change of one shows.

    Who cannot set them can still advise. ``said`` is what a user knows of delays; they are never taken to be shorter.
    """
    found = detect()
    acts = act and found.kind != "none"
    # Where nothing is ordered there is nothing to measure: a quota would count from the next period on.
    shares_s = actuation_delay_s(found.open) if acts else PERIOD_US / 1e6
    if said is None:
        return Preparation(found, acts, Knowledge(pipeline, shares_s, share_delay_s=shares_s))
    shares_s = max(shares_s, said.shares_after_s)
    delay_s = max(shares_s, said.actuation_delay_s)
    return Preparation(found, acts, Knowledge(pipeline, delay_s, share_delay_s=shares_s))
