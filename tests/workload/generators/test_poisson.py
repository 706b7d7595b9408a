from __future__ import annotations

from itertools import islice, pairwise

import numpy as np
import pytest
from scipy.stats import kstest

from mead.queueing import acf, idc
from mead.workload import GeneratorError, Poisson, RandomWalk, Steps


@pytest.mark.parametrize("length", [{"duration_s": 20.0}, {"count": 200_000}])
def test_inter_arrival_times_are_exponential_and_independent(length: dict[str, float]) -> None:
    iats = Poisson(rate_per_s=10_000.0, **length).generate(np.random.default_rng(1)).iats_s  # type: ignore[arg-type]
    assert kstest(iats * 10_000.0, "expon").pvalue > 0.001
    assert np.abs(acf(iats, [1, 2, 10])).max() < 4 / np.sqrt(iats.size)


def test_the_index_of_dispersion_is_one_at_every_scale() -> None:
    # Elastic-PPQ, Fig. 3: 1.0 / 1.0 / 1.0. The variance of n counts has a relative error of sqrt(2/n).
    trace = Poisson(rate_per_s=10_000.0, duration_s=200.0).generate(np.random.default_rng(2))
    for dispersion, t_s in zip(idc(trace.iats_s, [0.01, 0.1, 1.0]), [0.01, 0.1, 1.0], strict=True):
        assert dispersion == pytest.approx(1.0, abs=4 * np.sqrt(2 * t_s / 200.0))


def test_the_number_of_arrivals_in_a_duration_is_poisson() -> None:
    rng = np.random.default_rng(3)
    counts = np.array([len(Poisson(rate_per_s=50.0, duration_s=1.0).generate(rng)) for _ in range(2_000)])
    assert counts.mean() == pytest.approx(50.0, abs=4 * np.sqrt(50 / 2_000))
    assert counts.var() == pytest.approx(50.0, rel=4 * np.sqrt(2 / 2_000))


@pytest.mark.parametrize("rate", [0.0, -1.0, np.nan, np.inf])
def test_an_invalid_rate_is_refused(rate: float) -> None:
    with pytest.raises(GeneratorError, match="rate_per_s must be a finite number above 0"):
        Poisson(rate_per_s=rate, count=10)


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
def test_invalid_rates_are_refused(rates: tuple[float, ...], complaint: str) -> None:
    with pytest.raises(GeneratorError, match=complaint):
        Steps(rates_per_s=rates)


def test_steps_take_time() -> None:
    with pytest.raises(GeneratorError, match="step_s must be a finite number above 0"):
        Steps(step_s=0.0)


LOWEST, HIGHEST = 1e6 / 300, 1e6 / 16


def rates(walk: RandomWalk, phases: int, seed: int = 1) -> list[float]:
    return list(islice(walk.rates_per_s(np.random.default_rng(seed)), phases))


def test_the_walk_starts_at_its_rate_and_reaches_but_never_leaves_its_bounds() -> None:
    walked = rates(RandomWalk(count=2), 5_000)
    assert walked[0] == 5_000.0
    assert min(walked) == pytest.approx(LOWEST)
    assert max(walked) == pytest.approx(HIGHEST)


def test_the_bounds_follow_another_first_rate() -> None:
    walked = rates(RandomWalk(rate_per_s=320.0, count=2), 5_000)
    assert (min(walked), max(walked)) == pytest.approx((320 * 2 / 3, 320 * 12.5))


def test_steps_between_the_bounds_are_lognormal() -> None:
    wide = RandomWalk(count=2, rate_per_s=1.0, phase_s=1e-3, lowest_per_s=1e-12, highest_per_s=1e12)
    # Short walks, which end long before the bounds: after 100 steps the logarithm is off by 4, and they lie 27 away.
    walks = [rates(wide, 101, seed) for seed in range(30)]
    steps = np.diff(np.log(walks), axis=1).ravel()
    assert kstest(steps / 0.4, "norm").pvalue > 0.001


def test_bounds_at_which_a_phase_would_not_fit_into_memory_are_refused() -> None:
    with pytest.raises(GeneratorError, match=r"these would be 3e\+12 arrivals.* make phase_s shorter"):
        RandomWalk(count=2, highest_per_s=1e12)


def test_a_step_that_would_leave_the_bounds_ends_on_them() -> None:
    walked = rates(RandomWalk(count=2), 2_000)
    assert any(later == min(walked) < earlier for earlier, later in pairwise(walked))
    assert any(later == max(walked) > earlier for earlier, later in pairwise(walked))


def test_arrivals_of_a_phase_are_poisson_at_its_rate() -> None:
    # With hardly any step, all phases have the first rate: the counts must scatter like a Poisson variable.
    steady = RandomWalk(sigma=1e-9, phase_s=0.1, duration_s=100.0)
    counts = np.bincount(steady.generate(np.random.default_rng(2)).timestamps_us // 100_000, minlength=1_000)
    assert counts.mean() == pytest.approx(500.0, abs=4 * np.sqrt(500 / 1_000))
    assert counts.var() == pytest.approx(500.0, rel=4 * np.sqrt(2 / 1_000))


def test_the_published_stream_lies_within_what_the_walk_does() -> None:
    # RW-DS, Table 3: mean 11,816/s, maximum per second 4.17 times the mean. Five streams, a tenth of the length.
    traces = [RandomWalk(count=500_000).generate(np.random.default_rng(seed)) for seed in range(5)]
    means = [trace.rate_per_s for trace in traces]
    assert min(means) < 11_816 < max(means)
    assert all(LOWEST * 0.99 < mean < HIGHEST for mean in means)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"rate_per_s": 1.0, "lowest_per_s": 2.0}, "rate_per_s must lie between lowest_per_s and highest_per_s"),
        ({"sigma": 0.0}, "sigma"),
        ({"phase_s": -3.0}, "phase_s"),
        ({"lowest_per_s": 0.0}, "lowest_per_s"),
        ({"highest_per_s": np.inf}, "highest_per_s"),
    ],
)
def test_options_that_make_no_walk_are_refused(options: dict[str, float], complaint: str) -> None:
    with pytest.raises(GeneratorError, match=complaint):
        RandomWalk(count=10, **options)
