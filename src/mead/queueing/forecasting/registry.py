"""All forecasters by name, in one place."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from mead.extras import require
from mead.queueing.forecasting.extrapolation import Autoregressive, Basic, Ewma, Fourier, Linear
from mead.queueing.forecasting.forecaster import Forecaster
from mead.queueing.forecasting.learning import Forest, Perceptron
from mead.queueing.forecasting.selection import Automatic, Conformal

Predictor: TypeAlias = Literal[
    "basic", "lr", "fft", "fft-flat", "ann", "ann-repo", "rf", "ewma", "ar", "conformal", "auto"
]
PREDICTORS: tuple[Predictor, ...] = get_args(Predictor)

CANDIDATES: tuple[Predictor, ...] = ("ewma", "basic", "lr", "fft", "ar")
"""Candidates of ``auto``: the forecasters that are fitted within a millisecond."""

TRAINED: tuple[Predictor, ...] = ("ann", "ann-repo", "rf")
"""The forecasters that scikit-learn trains."""

USUAL_QUANTILE = 0.9
"""Default quantile of ``conformal``."""


def forecaster(name: Predictor, *, window: int, steps: int, quantile: float = USUAL_QUANTILE) -> Forecaster:
    """Make a forecaster of ``steps`` samples from the last ``window`` ones.

    The smoothing ones average over ``steps``.

    >>> type(forecaster("lr", window=12, steps=6)).__name__
    'Linear'
    """
    if name in TRAINED:
        require("forecast", f"the forecaster {name}")
    made: dict[Predictor, Forecaster] = {
        "basic": Basic(window),
        "lr": Linear(window),
        "fft": Fourier(window),
        "fft-flat": Fourier(window, degree=None),
        "ann": Perceptron(window),
        "ann-repo": Perceptron(window, repo_compat=True),
        "rf": Forest(window),
        "ewma": Ewma(span=steps),
        "ar": Autoregressive(window),
        "conformal": Conformal(Ewma(span=steps), steps=steps, quantile=quantile),
    }
    if name == "auto":
        return Automatic({candidate: made[candidate] for candidate in CANDIDATES}, steps=steps)
    return made[name]
