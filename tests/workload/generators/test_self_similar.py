from __future__ import annotations

import numpy as np
import pytest
from scipy.special import zeta
from scipy.stats import chisquare

from mead.queueing import idc
from mead.workload import GeneratorError, SelfSimilar


@pytest.mark.parametrize(
    ("rate_per_s", "hurst", "published"),
    [(30_000.0, 0.6, 25_582), (30_000.0, 0.7, 26_552), (80_000.0, 0.6, 67_000)],
)
def test_the_realised_mean_is_that_of_the_published_streams(rate_per_s: float, hurst: float, published: float) -> None:
    # Elastic-PPQ, Table 3. (H = 0.8 is left out: one stream's mean is too uncertain with a tail exponent of 1.4.)
    assert SelfSimilar(rate_per_s=rate_per_s, hurst=hurst, count=2).mean_rate_per_s == pytest.approx(
        published, rel=0.01
    )


@pytest.mark.parametrize("hurst", [0.55, 0.6, 0.7, 0.75, 0.8, 0.95])
def test_the_mean_is_close_to_the_zeta_function(hurst: float) -> None:
    source = SelfSimilar(rate_per_s=30_000.0, hurst=hurst, count=2)
    assert source.mean_rate_per_s * 0.001 == pytest.approx(source.scale * zeta(source.shape) + 0.5, abs=0.5)


def test_counts_in_slots_follow_the_recipe() -> None:
    source = SelfSimilar(rate_per_s=11_000.0, hurst=0.75, duration_s=100.0)
    trace = source.generate(np.random.default_rng(1))
    counts = np.bincount((trace.timestamps_us / 1e3).astype(np.int64), minlength=100_000)
    # P(floor(Pareto) = k) = k^-a - (k+1)^-a; a stamp rounded to the next microsecond may change its slot.
    k = np.arange(1, 12)
    values = np.ceil(source.scale * k)
    seen = np.array([(np.abs(counts - value) <= 1).sum() for value in values])
    chance = k**-1.5 - (k + 1.0) ** -1.5
    expected = chance * counts.size
    rest_seen, rest_expected = counts.size - seen.sum(), counts.size - expected.sum()
    assert chisquare([*seen, rest_seen], [*expected, rest_expected]).pvalue > 0.001


def test_counts_of_ten_milliseconds_have_the_published_quantiles() -> None:
    trace = SelfSimilar(rate_per_s=11_000.0, hurst=0.75, duration_s=300.0).generate(np.random.default_rng(2))
    counts = np.bincount(trace.timestamps_us // 10_000)[:30_000]
    quantiles = np.percentile(counts, [1, 5, 10, 25, 50, 75, 90, 95, 99])
    assert quantiles == pytest.approx([40, 47, 51, 59, 74, 100, 147, 199, 453], rel=0.05)


def test_the_index_of_dispersion_is_large_and_the_same_at_every_scale() -> None:
    # Elastic-PPQ, Fig. 3: 422 / 425 / 421. The level is random (the variance is infinite), its flatness is not.
    trace = SelfSimilar(rate_per_s=11_000.0, hurst=0.75, duration_s=200.0).generate(np.random.default_rng(3))
    short, middle, long = idc(trace.iats_s, [0.01, 0.1, 1.0])
    assert short > 100
    assert middle == pytest.approx(short, rel=0.1)
    assert long == pytest.approx(short, rel=0.35)


def test_low_rates_get_longer_slots_and_keep_their_mean() -> None:
    slow = SelfSimilar(rate_per_s=320.0, hurst=0.6, duration_s=2_000.0)
    assert slow.slot_length_s == 10 / 320
    assert slow.mean_rate_per_s == pytest.approx(0.885 * 320, rel=0.01)
    assert slow.generate(np.random.default_rng(4)).rate_per_s == pytest.approx(slow.mean_rate_per_s, rel=0.05)


@pytest.mark.parametrize("hurst", [0.5, 1.0, 0.0, np.nan])
def test_a_hurst_parameter_outside_its_range_is_refused(hurst: float) -> None:
    with pytest.raises(GeneratorError, match=r"hurst must lie between 0.5 and 1"):
        SelfSimilar(rate_per_s=1_000.0, hurst=hurst, count=10)


def test_a_slot_too_short_for_the_rate_is_refused_with_one_that_would_do() -> None:
    # Every slot holds at least one tuple: slots of 1 ms would turn 100/s into more than 1,000/s.
    with pytest.raises(GeneratorError, match=r"slot_s is too short for this rate.* 0\.1 s would do, got 0\.001 s"):
        SelfSimilar(rate_per_s=100.0, hurst=0.8, slot_s=0.001, count=10)
    assert SelfSimilar(rate_per_s=100.0, hurst=0.8, slot_s=0.1, count=10).mean_rate_per_s == pytest.approx(88, rel=0.1)


def test_a_slot_of_more_tuples_than_fit_into_memory_is_refused() -> None:
    with pytest.raises(GeneratorError, match=r"1e\+22 arrivals.* make slot_s shorter"):
        SelfSimilar(rate_per_s=1e12, hurst=0.7, slot_s=1e10, count=10)


def test_slots_and_rates_must_be_positive() -> None:
    with pytest.raises(GeneratorError, match="slot_s"):
        SelfSimilar(rate_per_s=1_000.0, hurst=0.7, slot_s=0.0, count=10)
    with pytest.raises(GeneratorError, match="rate_per_s"):
        SelfSimilar(rate_per_s=0.0, hurst=0.7, count=10)
