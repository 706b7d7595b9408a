"""Windows of IATs prepared for a fitter, and the fits that come back."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from mead.arrays import FloatArray
from mead.queueing.map import MAP


@dataclass(frozen=True)
class FittedMAP:
    """One candidate model of a window.

    A lower score is a better fit. Scores of different fitters cannot be compared.
    """

    map: MAP
    score: float
    family: str
    """The form of the model, for readers of the result."""
    parameters: tuple[float, ...] = ()
    """Where the search ended, so that the next window's can begin there; empty for fitters that start afresh."""


@dataclass(frozen=True)
class WindowFit:
    """The best models of one window of IATs, best first.

    ``used`` can be smaller than ``size``: IATs before a long silence or a jump of the rate say nothing about the
    present and are left out. ``note`` says so, and says when there is too little data for more than a Poisson model.
    ``models`` is empty only if there is nothing to fit; then ``note`` says why.
    """

    size: int
    used: int
    models: tuple[FittedMAP, ...]
    note: str = ""


ENOUGH = 200
"""With fewer IATs any sign of burstiness is noise."""

SHORTEST_S = 1e-100
"""Third moments of smaller IATs underflow."""

LONG_SILENCE = 0.05
"""An IAT longer than this part of the window is an outage of the source, not traffic."""

LEVEL_SHIFT = 0.9
"""``|log(rate after / rate before)|``: beyond a factor of 2.5 both sides are no longer one stationary process."""

LEVEL_MARGIN = 0.1
"""A level needs at least this part of the window to count as one."""


@dataclass(frozen=True, eq=False)
class Window:
    """IATs ready to be fitted: finite, not negative, mean 1, from one regime."""

    unit: FloatArray = field(repr=False)
    rate_per_s: float
    size: int
    note: str

    def fit(self, models: list[FittedMAP], *remarks: str) -> WindowFit:
        """Models of mean rate 1 become the answer for this window, in its own unit of time."""
        scaled = tuple(
            FittedMAP(model.map.scaled(self.rate_per_s), model.score, model.family, model.parameters)
            for model in models
        )
        note = "; ".join(remark for remark in (self.note, *remarks) if remark)
        return WindowFit(size=self.size, used=int(self.unit.size), models=scaled, note=note)


def prepare(iats: FloatArray, *, whole: bool = False) -> Window | WindowFit:
    """A window to fit, or at once the answer where there is too little in it.

    IATs before a long silence or before a jump of the rate are left out, unless the ``whole`` window is asked for.

    >>> prepare(np.zeros(3)).note
    'no two arrivals are apart in time, so there is nothing to fit'
    >>> prepare(np.full(100, 0.5)).models[0].map.rate_per_s
    2.0
    >>> steady = np.full(1000, 2.0)
    >>> prepare(np.concatenate([steady, steady / 4])).note
    'the rate jumped by a factor of 4.0: only the last 1000 IATs are used'
    """
    usable = iats[np.isfinite(iats) & (iats >= 0)]
    notes = []
    if usable.size < iats.size:
        notes.append(f"{iats.size - usable.size} IATs were negative or not finite and are left out")
    if usable.size >= ENOUGH and usable.any() and not whole:
        usable, remark = _after_last_silence(usable)
        notes += remark
        usable, remark = _after_level_shift(usable)
        notes += remark

    def answer(*models: FittedMAP) -> WindowFit:
        return WindowFit(size=int(iats.size), used=int(usable.size), models=models, note="; ".join(notes))

    if usable.size < 2:
        notes.append("fewer than two IATs, so there is nothing to fit")
        return answer()
    if not usable.any():
        notes.append("no two arrivals are apart in time, so there is nothing to fit")
        return answer()
    longest = float(usable.max())
    mean_s = float((usable / longest).mean()) * longest  # no sum can overflow this way
    if not SHORTEST_S < mean_s < 1 / SHORTEST_S:
        notes.append(f"a mean IAT of {mean_s:g} s is beyond what can be computed with: check the unit")
        return answer()
    if usable.size < ENOUGH:
        notes.append(f"{usable.size} IATs are too few to see burstiness (at least {ENOUGH}): a Poisson model")
        return answer(FittedMAP(MAP.poisson(1.0 / mean_s), score=0.0, family="Poisson"))
    return Window(usable / mean_s, 1.0 / mean_s, int(iats.size), "; ".join(notes))


def _after_last_silence(iats: FloatArray) -> tuple[FloatArray, list[str]]:
    """The IATs after the last long silence, or before it if too few follow."""
    share = iats / iats.max()
    silences = np.flatnonzero(share > LONG_SILENCE * share.sum())
    if silences.size == 0:
        return iats, []
    edges = np.concatenate([[-1], silences, [iats.size]])
    parts = [iats[a + 1 : b] for a, b in pairwise(edges)]
    enough = [part for part in parts if part.size >= max(ENOUGH, LEVEL_MARGIN * iats.size) and part.any()]
    if not enough:
        return iats, []
    return enough[-1], [f"a silence of {iats[silences[-1]]:.3g} s cuts the window: {enough[-1].size} IATs are used"]


def _after_level_shift(iats: FloatArray) -> tuple[FloatArray, list[str]]:
    """The IATs after the largest jump of the rate, if it is large enough."""
    elapsed = np.cumsum(iats / iats.max())
    after = np.arange(int(LEVEL_MARGIN * iats.size), int((1 - LEVEL_MARGIN) * iats.size))
    before_s, after_s = elapsed[after - 1], elapsed[-1] - elapsed[after - 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        jump = np.log((iats.size - after) / after_s) - np.log(after / before_s)
    jump = np.where(np.isfinite(jump), jump, 0.0)
    where = int(np.abs(jump).argmax())
    rest = iats[after[where] :]
    if abs(jump[where]) <= LEVEL_SHIFT or rest.size < ENOUGH:
        return iats, []
    factor = float(np.exp(jump[where]))
    return rest, [f"the rate jumped by a factor of {factor:.1f}: only the last {rest.size} IATs are used"]
