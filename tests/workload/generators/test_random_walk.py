from __future__ import annotations

from itertools import islice, pairwise

import numpy as np
import pytest
from scipy.stats import kstest

from mead.workload import GeneratorError, RandomWalk

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
    # RW-DS, Table 3: mean 11,816/s, greatest second 4.17 times the mean. Five streams of ours, a tenth of the length.
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
