"""What every policy is, to the loop that calls it."""

from __future__ import annotations

from typing import Protocol, TypeVar

from mead.values import Knowledge, Observation, Plan

Analysis = TypeVar("Analysis")


class Policy(Protocol[Analysis]):
    """A policy looks at an observation twice: what is going on, and what to do about it.

    Both steps depend on nothing but their arguments and what earlier calls have shown; a policy reads no clock and
    knows no engine.

    One that places processors may have an attribute ``negotiates`` that is true: then it is told on a cluster what was
    granted of what it has ordered, and must be able to deal with fewer executors than that. For the others, executors
    follow when they come.
    """

    name: str
    interval_s: float
    """Time between two decisions."""

    def analyze(self, observation: Observation, knowledge: Knowledge) -> Analysis:
        """What the arrivals are like."""

    def plan(self, observation: Observation, analysis: Analysis, knowledge: Knowledge) -> Plan:
        """What to allocate, and why."""
