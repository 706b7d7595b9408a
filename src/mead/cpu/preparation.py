"""What a live run has to know of its machine before it begins: whether shares can be set, and how fast they act."""

from __future__ import annotations

from dataclasses import dataclass

from mead.cpu.detection import Detection, detect
from mead.cpu.limit import PERIOD_US
from mead.cpu.share_probe import actuation_delay_s
from mead.values import Knowledge, Pipeline


@dataclass(frozen=True)
class Preparation:
    """What this machine can do, and what the run knows because of it."""

    found: Detection
    acts: bool
    """Whether the run sets shares: acting is wanted, and possible."""
    knowledge: Knowledge


def prepared(pipeline: Pipeline, *, act: bool, said: Knowledge | None = None) -> Preparation:
    """Find out whether shares can be set; if they can, and ``act`` is wanted, measure how soon a change shows.

    A run that cannot set shares can still advise. ``said`` holds delays that the user has stated: the longer of the
    stated and the measured delay is used.
    """
    found = detect()
    acts = act and found.kind != "none"
    # Without orders there is nothing to measure: assume one period, as a quota counts from the next period on.
    shares_s = actuation_delay_s(found.open) if acts else PERIOD_US / 1e6
    if said is None:
        return Preparation(found, acts, Knowledge(pipeline, shares_s, share_delay_s=shares_s))
    shares_s = max(shares_s, said.shares_after_s)
    delay_s = max(shares_s, said.actuation_delay_s)
    return Preparation(found, acts, Knowledge(pipeline, delay_s, share_delay_s=shares_s))
