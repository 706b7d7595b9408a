"""KPC fitting: blocks matched to moments and correlations of a window.

Casale, Zhang and Smirni, "KPC-Toolbox: Best recipes for automatic trace fitting using Markovian Arrival Processes"
(Performance Evaluation 67, 2010), the fitter that MEAD was published with. Two steps: SCV and decay of the blocks
(``correlation``), then their third moments (``third_order``). The objectives are those of the published program.
Repaired are

* the order: there are as many blocks as ``max_states`` allows, and a block that the window does not need ends as
  exponential and adds no states. The published choice regresses the noisy autocorrelation on itself, does not see
  slow correlation, and gives many windows two states (``python -m experiments mead-kpc``);
* the starts, which cover all time scales of the window, see ``correlation``;
* blocks that do not exist: the limits are part of the search, and every block is built in closed form with the
  third moment that was asked for, so the MAP has the objective that the search found;
* dependence on the unit: IATs have mean 1 throughout, and the scales of the blocks, which cancel, are no unknowns;
* the bound that pins third moments at their least value: phases are bounded by what the window shows;
* the score, which is the misfit of both steps. Published is that of the second alone, so that a model without the
  slow correlation of the window can win.

The statistics that it matches leave the queue open by a factor of two or three: to predict response times use the
default fitter.
"""

from __future__ import annotations

import numpy as np

from mead.arrays import FloatArray
from mead.queueing.fitting.kpc.blocks import EXPONENTIAL, LEAST_EXCESS, block, composed_kpc
from mead.queueing.fitting.kpc.correlation import fit_correlation
from mead.queueing.fitting.kpc.targets import LEAST_SCV, measured
from mead.queueing.fitting.kpc.third_order import fit_third_order
from mead.queueing.fitting.window import FittedMAP, WindowFit, prepare

CORRELATION_STARTS = 50
THIRD_ORDER_STARTS = 30
KEPT_OPTIMA = 10
"""Optima of the first stage that go into the second."""


def fit_kpc(
    iats: FloatArray,
    *,
    best: int = 5,
    rng: np.random.Generator,
    max_states: int = 16,
    blocks: int | None = None,
    whole: bool = False,
) -> WindowFit:
    """The best KPC models of a window of IATs in seconds, best first.

    There are fewer than ``best`` models if the starts end in fewer different optima. The score adds up the relative
    errors of autocorrelation and SCV and of the third-order joint moments; it grows if the third moment is off by more
    than a factor of two. ``blocks`` sets the number of blocks in place of ``max_states``. The ``whole``
    window is fitted if asked for, as published, also across a silence or a jump of the rate.

    >>> from mead.queueing.map import MAP
    >>> bursty = MAP.two_state(rate_per_s=100.0, idc=50.0)
    >>> fit = fit_kpc(bursty.sample(50_000, np.random.default_rng(1)), rng=np.random.default_rng(2), blocks=1)
    >>> fitted = fit.models[0].map
    >>> bursty.acf([1, 10]).round(2).tolist(), fitted.acf([1, 10]).round(2).tolist()
    ([0.37, 0.16], [0.37, 0.16])
    >>> round(fitted.idc_limit)
    51
    """
    if best < 1:
        raise ValueError(f"best must be at least 1; got {best}")
    if max_states < 2 or (blocks is not None and blocks < 1):
        raise ValueError(f"a KPC model has at least one block of two states; got {max_states} states, {blocks} blocks")
    window = prepare(iats, whole=whole)
    if isinstance(window, WindowFit):
        return window
    models, remarks = _fit(window.unit, best, blocks or max_states.bit_length() - 1, rng)
    return window.fit(models, *remarks)


def _fit(iats: FloatArray, best: int, blocks: int, rng: np.random.Generator) -> tuple[list[FittedMAP], list[str]]:
    """Models of mean 1 for IATs of mean 1, and notes on them."""
    targets = measured(iats)
    notes = []
    if targets.scv < LEAST_SCV:
        notes.append(f"the SCV {targets.scv:.3g} is below {LEAST_SCV}, the least a KPC model can have")
    if not targets.rho.any():  # as for constant IATs
        return [FittedMAP(block(LEAST_EXCESS, 0.0, 0.25), score=0.0, family="Erlang-2")], notes
    optima = fit_correlation(targets, blocks, CORRELATION_STARTS, rng).best(max(KEPT_OPTIMA, best))
    third = fit_third_order(targets, optima, THIRD_ORDER_STARTS, rng)
    score = optima.objective + third.score
    models = []
    for row in np.argsort(score, kind="stable")[:best]:
        whole = composed_kpc(optima.excess[row], optima.decay[row], third.phase_product[row])
        used = int(np.count_nonzero(np.abs(optima.excess[row]) >= EXPONENTIAL))
        family = f"KPC, {used} block{'' if used == 1 else 's'}"
        models.append(FittedMAP(whole, score=float(score[row]), family=family))
    return models, notes
