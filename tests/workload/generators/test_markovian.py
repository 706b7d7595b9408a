from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mead.queueing import MAP, acf, idc
from mead.workload import Bursts, GeneratorError, Markovian
from mead.workload.generators.markovian import largest_ratio

FIG_3 = Markovian(rate_per_s=10_000.0, idc=1_000.0, ratio=4.0004, duration_s=50.0)


def test_the_index_of_dispersion_of_the_published_stream() -> None:
    # Elastic-PPQ, Fig. 3, the authors' trace: 196 / 789 / 1019. Its 1 s value is an estimate from few seconds.
    assert FIG_3.map.idc([0.01, 0.1, 1.0]) == pytest.approx([196, 789, 1019], rel=0.05)


def test_generated_arrivals_have_that_index_of_dispersion() -> None:
    scales = [0.01, 0.1, 1.0]
    runs = np.array([idc(FIG_3.generate(np.random.default_rng(seed)).iats_s, scales) for seed in range(12)])
    error = runs.std(axis=0, ddof=1) / np.sqrt(len(runs))
    assert (error < 0.1 * FIG_3.map.idc(scales)).all()
    assert (np.abs(runs.mean(axis=0) - FIG_3.map.idc(scales)) < 4 * error).all()


def test_generated_iats_have_the_moments_and_the_correlation_of_the_map() -> None:
    source = Markovian(rate_per_s=100.0, idc=20.0, count=400_000)
    runs = [source.generate(np.random.default_rng(seed)).iats_s for seed in range(8)]
    measured = np.array([[iats.mean(), (iats**2).mean(), *acf(iats, [1, 5])] for iats in runs])
    exact = np.array([source.map.moment(1), source.map.moment(2), *source.map.acf([1, 5])])
    error = measured.std(axis=0, ddof=1) / np.sqrt(len(runs))
    assert (np.abs(measured.mean(axis=0) - exact) < 4 * error).all()
    assert (error < 0.02 * exact).all()


def test_matrices_are_taken_as_they_are_or_brought_to_a_rate() -> None:
    D0, D1 = [[-3.0, 1.0], [0.5, -1.0]], [[2.0, 0.0], [0.0, 0.5]]
    given = Markovian(D0=D0, D1=D1, count=10).map
    assert given.D0.tolist() == D0
    assert given.D1.tolist() == D1
    scaled = Markovian(D0=D0, D1=D1, rate_per_s=50.0, count=10).map
    assert scaled.rate_per_s == pytest.approx(50.0)
    assert scaled.scv == pytest.approx(given.scv)


def test_by_duration_the_mean_number_of_arrivals_is_rate_times_duration() -> None:
    # The bursts last ten times the duration. A start at an arrival would see a burst in 91 % of the runs, not 50 %.
    source = Bursts(calm_per_s=20.0, burst_per_s=200.0, mean_calm_s=10.0, mean_burst_s=10.0).map
    generator = Markovian(D0=source.D0.tolist(), D1=source.D1.tolist(), duration_s=1.0)
    counts = np.array([len(generator.generate(np.random.default_rng(seed))) for seed in range(1_000)])
    assert counts.mean() == pytest.approx(110.0, abs=4 * counts.std() / np.sqrt(counts.size))


def test_by_count_the_mean_inter_arrival_time_is_that_of_the_map() -> None:
    source = Bursts(calm_per_s=20.0, burst_per_s=200.0, mean_calm_s=10.0, mean_burst_s=10.0).map
    generator = Markovian(D0=source.D0.tolist(), D1=source.D1.tolist(), count=3)
    firsts = np.array([generator.generate(np.random.default_rng(seed)).iats_s[0] for seed in range(2_000)])
    assert firsts.mean() == pytest.approx(1 / 110.0, abs=4 * firsts.std() / np.sqrt(firsts.size))


def test_the_chain_goes_on_from_block_to_block() -> None:
    # Every arrival changes the phase, so every third IAT is long, without a single exception. (Not every second:
    # blocks have an even size, and a chain that starts afresh in each would look the same.)
    D0 = [[-1.0, 0.0, 0.0], [0.0, -1e12, 0.0], [0.0, 0.0, -1e12]]
    D1 = [[0.0, 1.0, 0.0], [0.0, 0.0, 1e12], [1e12, 0.0, 0.0]]
    iats = Markovian(D0=D0, D1=D1, count=300_001).generate(np.random.default_rng(1)).iats_s
    long = iats.reshape(-1, 3) > 1e-9
    assert (long.sum(axis=1) == 1).all()
    assert (long == long[0]).all()


@given(st.floats(1.05, 1e5), st.floats(1e-3, 1e5))
def test_every_index_of_dispersion_above_one_can_be_had(dispersion: float, rate: float) -> None:
    source = Markovian(rate_per_s=rate, idc=dispersion, count=2).map
    assert source.idc_limit == pytest.approx(dispersion, rel=1e-6)
    assert source.rate_per_s == pytest.approx(rate, rel=1e-9)


def test_a_large_index_of_dispersion_uses_the_published_ratio() -> None:
    assert largest_ratio(205.0) == 4.0
    source, published = Markovian(rate_per_s=1.0, idc=205.0, count=2).map, MAP.two_state(1.0, 205.0, ratio=4.0)
    assert source.D1.tolist() == published.D1.tolist()


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({}, "either rate_per_s and idc, or both matrices"),
        ({"rate_per_s": 5.0}, "either rate_per_s and idc, or both matrices"),
        ({"D0": [[-1.0]]}, "either rate_per_s and idc, or both matrices"),
        ({"D0": [[-1.0]], "D1": [[1.0]], "idc": 3.0}, "either rate_per_s and idc, or both matrices"),
        ({"rate_per_s": 5.0, "idc": 1.0}, "index of dispersion > 1"),
        ({"rate_per_s": 5.0, "idc": 0.5}, "index of dispersion > 1"),
        ({"rate_per_s": -5.0, "idc": 10.0}, "rate_per_s must be a finite number above 0"),
        ({"rate_per_s": 5.0, "idc": 2.0, "ratio": 4.0}, "cannot be below 4.6"),
        ({"D0": [[-1.0]], "D1": [[2.0]]}, "rows of D0 . D1 must sum to zero"),
    ],
)
def test_options_that_make_no_map_are_refused_before_anything_is_drawn(
    options: dict[str, float], complaint: str
) -> None:
    with pytest.raises(GeneratorError, match=complaint):
        Markovian(count=10, **options)  # type: ignore[arg-type]
