"""Every kernel must find what the definition says, for any tuples: equal, tied, of every width."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.preference.conftest import as_multiset, brute_skyline, points

from mead.arrays import FloatArray
from mead.preference.kernels.block_nested_loop import ALONE, NestedLoop, nested_loop_factors, nested_loop_skyline
from mead.preference.kernels.dominance import PreferenceError, Preferences, best_first, check_points, sort_few
from mead.preference.kernels.skyline import skyline
from mead.preference.simulator.cost import expected_sizes


@given(points())
def test_the_skyline_is_what_nobody_dominates(rows: FloatArray) -> None:
    assert sorted(skyline(rows).tolist()) == brute_skyline(rows)


@given(points())
def test_the_nested_loop_finds_the_same(rows: FloatArray) -> None:
    assert nested_loop_skyline(rows).rows.tolist() == brute_skyline(rows)


def merged(one: FloatArray, other: FloatArray) -> FloatArray:
    both = np.concatenate((one, other))
    return both[skyline(both)]


@given(points(most=80, widths=st.just(8)), st.lists(st.integers(0, 3), min_size=80, max_size=80))
def test_parts_may_be_merged_in_any_order(rows: FloatArray, parts: list[int]) -> None:
    labels = np.array(parts[: len(rows)], dtype=np.int64)
    a, b, c, d = (rows[labels == part] for part in range(4))
    whole = as_multiset(rows[skyline(rows)])
    in_turn = merged(merged(merged(a[skyline(a)], b[skyline(b)]), c[skyline(c)]), d[skyline(d)])
    as_tree = merged(merged(d[skyline(d)], b[skyline(b)]), merged(c[skyline(c)], a[skyline(a)]))
    assert as_multiset(in_turn) == whole
    assert as_multiset(as_tree) == whole


@pytest.mark.parametrize("kernel", [nested_loop_skyline, nested_loop_factors])
@given(points(most=80, widths=st.just(4)), st.lists(st.integers(ALONE, 2), min_size=80, max_size=80))
def test_the_nested_loop_merges_results_without_comparing_them_again(
    kernel: Callable[..., NestedLoop], rows: FloatArray, parts: list[int]
) -> None:
    labels = np.array(parts[: len(rows)], dtype=np.int64)
    results = [rows[labels == part][skyline(rows[labels == part])] for part in range(3)]
    tuples = np.concatenate((*results, rows[labels == ALONE]))
    sizes = [*(len(result) for result in results), int(np.count_nonzero(labels == ALONE))]
    own = np.repeat([0, 1, 2, ALONE], sizes)
    answer = kernel(tuples, own)
    assert as_multiset(tuples[answer.rows]) == as_multiset(rows[brute_skyline(rows)])
    within = sum(len(result) * (len(result) - 1) // 2 for result in results)
    assert answer.comparisons <= len(tuples) * (len(tuples) - 1) // 2 - within


@given(points())
def test_nobody_comes_before_a_dominator(rows: FloatArray) -> None:
    ordered = rows[best_first(rows)]
    for place, row in enumerate(ordered):
        later = ordered[place + 1 :]
        assert not ((later <= row).all(axis=1) & (later < row).any(axis=1)).any()


@pytest.mark.parametrize("width", [1, 2, 3, 5, 8, 10, 70])
def test_large_samples_agree_with_the_nested_loop(width: int) -> None:
    rng = np.random.default_rng(width)
    for rows in (rng.random((3000, width)), rng.integers(0, 6, (3000, width)).astype(float)):
        assert sorted(skyline(rows).tolist()) == nested_loop_skyline(rows).rows.tolist()


SHAPES: dict[str, Callable[[np.random.Generator, int, int], FloatArray]] = {
    "uniform": lambda rng, count, width: rng.random((count, width)),
    "correlated": lambda rng, count, width: rng.random((count, 1)) + 0.1 * rng.random((count, width)),
    "anti-correlated": lambda rng, count, width: rng.dirichlet(np.ones(width), count) * rng.normal(1, 0.05, (count, 1)),
    "below 10": lambda rng, count, width: rng.integers(0, 10, (count, width)).astype(float),
    "below 100": lambda rng, count, width: rng.integers(-50, 50, (count, width)).astype(float),
    "copies": lambda rng, count, width: rng.random((40, width))[rng.integers(0, 40, count)],
    "sorted": lambda rng, count, width: np.sort(rng.random((count, width)), axis=0),
}


def skyline_by_columns(rows: FloatArray) -> list[int]:
    """The definition, one row against all others at a time."""
    return [i for i, row in enumerate(rows) if not ((rows <= row).all(axis=1) & (rows < row).any(axis=1)).any()]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("width", [1, 2, 3, 4, 5, 8])
def test_every_way_to_the_skyline_finds_it(width: int, shape: str) -> None:
    """Windows that are full or not, few rows and many, with codes or without: the same answer, in the same order."""
    rng = np.random.default_rng(width)
    for count in (1, 50, 600, 2_500):
        rows = SHAPES[shape](rng, count, width)
        found = skyline(rows)
        assert sorted(found.tolist()) == skyline_by_columns(rows)
        members = np.sort(found)
        assert found.tolist() == members[best_first(rows[members])].tolist(), "best sum first"


@given(points(most=300), st.booleans())
def test_a_few_rows_are_sorted_like_many(rows: FloatArray, reverse: bool) -> None:  # noqa: FBT001 - drawn
    numbers = np.arange(len(rows))
    assert sort_few(rows, numbers[::-1].copy() if reverse else numbers).tolist() == best_first(rows).tolist()


@given(points())
def test_nobody_comes_before_a_dominator_in_tilted_order(rows: FloatArray) -> None:
    ordered = rows[best_first(rows, tilted=True)]
    for place, row in enumerate(ordered):
        later = ordered[place + 1 :]
        assert not ((later <= row).all(axis=1) & (later < row).any(axis=1)).any()


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_a_skyline_of_values_that_are_not_finite_is_refused(wrong: float) -> None:
    rows = np.ones((1000, 3))
    rows[700, 1] = wrong
    with pytest.raises(PreferenceError, match="row 700 has a value that is not finite"):
        skyline(rows)


def test_many_copies_of_one_tuple_all_stay() -> None:
    rows = np.tile([[1.0, 2.0, 3.0]], (20_000, 1))
    assert skyline(rows).size == 20_000


def test_the_mean_size_is_the_expected_one() -> None:
    # Spec 1.4: 29 is the standard deviation of one sample at 1,000 tuples, so 60 samples scatter by 4.
    rng = np.random.default_rng(1)
    sizes = [skyline(rng.random((1000, 8))).size for _ in range(60)]
    assert np.mean(sizes) == pytest.approx(537.0, abs=16)


def test_skylines_of_independent_attributes_have_the_expected_size() -> None:
    rng = np.random.default_rng(1)
    sizes = [skyline(rng.random((1000, 5))).size for _ in range(40)]
    assert np.mean(sizes) == pytest.approx(float(expected_sizes(1000, 5)[1000]), rel=0.08)


def test_expected_sizes_are_those_of_the_formula() -> None:
    known = {1000: 537.0, 2000: 889.6, 4000: 1435.5, 8000: 2260.3, 30_000: 5046.8}
    for count, size in known.items():
        assert expected_sizes(30_000)[count] == pytest.approx(size, abs=0.06)
    assert expected_sizes(100, 1).max() == 1.0
    harmonic = np.cumsum(1 / np.arange(1, 101))
    assert expected_sizes(100, 2)[1:] == pytest.approx(harmonic)


def test_highest_is_best_where_the_user_says_so() -> None:
    phones = {"price": [300, 200, 500, 250], "battery": [40, 30, 60, 20], "colour": [1, 2, 3, 4]}
    wanted = Preferences.of(price="min", battery="max")
    assert sorted(skyline(wanted.points(phones)).tolist()) == [0, 1, 2]


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(PreferenceError, match="row 1"):
        check_points([[1.0], [np.inf]])
    with pytest.raises(PreferenceError, match="no column stars; there are price"):
        Preferences.of(stars="max").points({"price": [1.0]})
    with pytest.raises(PreferenceError, match="at least one column"):
        Preferences((), ())
    with pytest.raises(PreferenceError, match="write min or max"):
        Preferences(("a",), ("low",))  # type: ignore[arg-type]
