"""KPC fitting: blocks matched to moments and correlations of a window.

Casale, Zhang and Smirni, "KPC-Toolbox: Best recipes for automatic trace fitting using Markovian Arrival Processes"
(Performance Evaluation 67, 2010), the fitter that MEAD was published with. Three steps: the number of blocks from the
autocorrelation (``kpc_order``), SCV and decay of the blocks (``kpc_correlation``), their third moments
(``kpc_third_order``). The objectives and random starts are those of the published program. Repaired are

* the order: no regression with more unknowns than a quarter of its lags, and n states for n - 1 geometric terms;
* blocks that do not exist: the limits are part of the search, and every block is built in closed form with the
  third moment that was asked for, so the MAP has the objective that the search found;
* dependence on the unit: IATs have mean 1 throughout, and the scales of the blocks, which cancel, are no unknowns;
* the bound that pins third moments at their least value: phases are bounded by what the window shows.

It is here to be compared with. It matches the autocorrelation well, but the autocorrelation says little about the
queue: to predict response times use the default fitter.
"""

from __future__ import annotations

import numpy as np

from mead.arrays import FloatArray
from mead.queueing.fitting.kpc.blocks import LEAST_EXCESS, block, composed_kpc
from mead.queueing.fitting.kpc.correlation import fit_correlation
from mead.queueing.fitting.kpc.order import WELL_EXPLAINED, choose_order
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
) -> WindowFit:
    """The best KPC models of a window of IATs in seconds, best first.

    There are fewer than ``best`` models if the starts end in fewer different optima. The score, as published, is the
    relative error of the third-order joint moments; it grows if the third moment is off by more than a factor of two.
    ``blocks`` overrides the choice of the order; a model has at most ``2**blocks`` states.

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
    window = prepare(iats)
    if isinstance(window, WindowFit):
        return window
    models, remarks = _fit(window.unit, best, max_states, blocks, rng)
    return window.fit(models, *remarks)


def _fit(
    iats: FloatArray, best: int, max_states: int, blocks: int | None, rng: np.random.Generator
) -> tuple[list[FittedMAP], list[str]]:
    """Models of mean 1 for IATs of mean 1, and notes on them."""
    targets = measured(iats, max_states)
    notes = []
    if targets.scv < LEAST_SCV:
        notes.append(f"the SCV {targets.scv:.3g} is below {LEAST_SCV}, the least a KPC model can have")
    if not targets.rho.any():  # as for constant IATs
        return [FittedMAP(block(LEAST_EXCESS, 0.0, 0.25), score=0.0, family="Erlang-2")], notes
    if blocks is None:
        order = choose_order(targets.every_rho, max_states)
        blocks = order.blocks
        if order.unexplained > WELL_EXPLAINED:
            notes.append(f"{2**blocks} states leave {order.unexplained:.0%} of the squared autocorrelation unexplained")
    optima = fit_correlation(targets, blocks, CORRELATION_STARTS, rng).best(max(KEPT_OPTIMA, best))
    third = fit_third_order(targets, optima, THIRD_ORDER_STARTS, rng)
    family = f"KPC, {blocks} block{'s' if blocks > 1 else ''}"
    models = []
    for row in np.argsort(third.score, kind="stable")[:best]:
        whole = composed_kpc(optima.excess[row], optima.decay[row], third.phase_product[row])
        models.append(FittedMAP(whole, score=float(third.score[row]), family=family))
    return models, notes
