from __future__ import annotations

import numpy as np
import pytest

from mead.workload import GeneratorError, Steps


def test_the_artificial_stream_of_the_paper() -> None:
    # Elastic-PPQ, Fig. 9: 40, 50, 70, 80, 60, 40 thousand tuples per second, 30 s each.
    trace = Steps().generate(np.random.default_rng(1))
    counts = np.histogram(trace.timestamps_us, np.arange(7) * 30e6)[0]
    expected = np.array([40e3, 50e3, 70e3, 80e3, 60e3, 40e3]) * 30
    assert (np.abs(counts - expected) < 4 * np.sqrt(expected)).all()
    assert counts.sum() == len(trace)


def test_a_rate_of_zero_is_silence() -> None:
    trace = Steps(rates_per_s=(100.0, 0.0, 100.0), step_s=1.0).generate(np.random.default_rng(1))
    assert np.histogram(trace.timestamps_us, [1e6, 2e6])[0].tolist() == [0]
    assert trace.iats_s.max() > 1.0


@pytest.mark.parametrize(
    ("rates", "complaint"),
    [((), "at least one rate"), ((1.0, -1.0), "0 for silence; got -1"), ((np.nan,), "0 for silence; got nan")],
)
def test_rates_that_are_none_are_refused(rates: tuple[float, ...], complaint: str) -> None:
    with pytest.raises(GeneratorError, match=complaint):
        Steps(rates_per_s=rates)


def test_steps_take_time() -> None:
    with pytest.raises(GeneratorError, match="step_s must be a finite number above 0"):
        Steps(step_s=0.0)
