"""All forecasters by name, in one place."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from mead.models.forecast.automatic import Automatic
from mead.models.forecast.autoregressive import Autoregressive
from mead.models.forecast.basic import Basic
from mead.models.forecast.conformal import Conformal
from mead.models.forecast.ewma import Ewma
from mead.models.forecast.forecaster import Forecaster
from mead.models.forecast.forest import Forest
from mead.models.forecast.fourier import Fourier
from mead.models.forecast.linear import Linear
from mead.models.forecast.perceptron import Perceptron

Predictor: TypeAlias = Literal["basic", "lr", "fft", "ann", "ann-repo", "rf", "ewma", "ar", "conformal", "auto"]
PREDICTORS: tuple[Predictor, ...] = get_args(Predictor)

CANDIDATES: tuple[Predictor, ...] = ("ewma", "basic", "lr", "fft", "ar")
"""Candidates of ``auto``: the forecasters that are fitted within a millisecond."""


USUAL_QUANTILE = 0.9
"""Default quantile of ``conformal``."""


def forecaster(name: Predictor, *, window: int, steps: int, quantile: float = USUAL_QUANTILE) -> Forecaster:
    """A forecaster of ``steps`` samples from the last ``window`` ones; the smoothed ones average over ``steps``.

    >>> type(forecaster("lr", window=12, steps=6)).__name__
    'Linear'
    """
    made: dict[Predictor, Forecaster] = {
        "basic": Basic(window),
        "lr": Linear(window),
        "fft": Fourier(window),
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
