"""RF: a random forest on the index of a sample."""

from __future__ import annotations

import numpy as np

from mead.arrays import FloatArray
from mead.queueing.forecasting.forecaster import Windowed


class Forest(Windowed):
    """scikit-learn's RandomForestRegressor as PA-SPS uses it: 100 trees. Seeded here, so that a run can be repeated.

    Trees cannot go beyond what they have seen: the forecast is nearly a constant near the last samples.

    >>> forest = Forest(window=12)
    >>> forest.observe(np.arange(12.0))
    >>> bool(np.ptp(forest.forecast(6)) == 0.0), bool(9 < forest.forecast(1)[0] <= 11)
    (True, True)
    """

    def _beyond(self, window: FloatArray, steps: int) -> FloatArray:
        from sklearn.ensemble import RandomForestRegressor  # noqa: PLC0415 - takes a second to load

        index = np.arange(window.size + steps, dtype=np.float64)[:, None]
        forest = RandomForestRegressor(random_state=1).fit(index[: window.size], window)
        return np.asarray(forest.predict(index[window.size :]))
