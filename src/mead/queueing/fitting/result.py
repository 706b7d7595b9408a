"""The result of a fit: several models, best first, or why there are none."""

from __future__ import annotations

from dataclasses import dataclass

from mead.queueing.map import MAP


@dataclass(frozen=True)
class FittedMAP:
    """One candidate model of a window.

    A lower score is a better fit. Scores of different fitters cannot be compared.
    """

    map: MAP
    score: float
    family: str
    """Which form the model has, for people who read the result."""
    parameters: tuple[float, ...] = ()
    """Where the search ended, so that the next window's can begin there; empty for fitters that start afresh."""


@dataclass(frozen=True)
class WindowFit:
    """The best models of one window of IATs, best first.

    ``used`` can be smaller than ``size``: what came before a long silence or a jump of the rate tells nothing about
    now and is left out. ``note`` says so, and says when there is too little data for more than a Poisson model.
    ``models`` is empty only if there is nothing to fit; then ``note`` says why.
    """

    size: int
    used: int
    models: tuple[FittedMAP, ...]
    note: str = ""
