"""Dominance relations of users: the answer of the definition, however a window is split and merged."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.preference.conftest import points
from tests.preference.spark.stream_folder import engine, names, put, results
from tests.preference.spark.test_engine import expected, split_hard, streams

from mead.arrays import FloatArray
from mead.preference.control.degrees import Degrees
from mead.preference.kernels.dominance import PreferenceError, Preferences
from mead.preference.kernels.relation import Dominates, check_relation, compile_relation, relation_skyline
from mead.preference.kernels.skyline import skyline
from mead.preference.spark.query_spec import ExecutionOptions, QuerySpec
from mead.preference.spark.user_relation import Relation, SlowRelationWarning
from mead.preference.windows.owner_table import Splitting
from mead.preference.windows.panes import Windows


def pareto(one: FloatArray, other: FloatArray) -> bool:
    better = False
    for column in range(one.size):
        if one[column] > other[column]:
            return False
        better = better or one[column] < other[column]
    return better


def by_priority(one: FloatArray, other: FloatArray) -> bool:
    """The first column decides if it differs by more than 1 whole step; else nothing does."""
    return bool(one[0] + 1 < other[0])


def in_category(one: FloatArray, other: FloatArray) -> bool:
    """Tuples are compared with those of their own category, the last column, alone."""
    return bool(one[-1] == other[-1] and one[0] < other[0])


def in_python(one: FloatArray, other: FloatArray) -> bool:
    """Numba has no such strings."""
    return f"{one[0]:09.3f}" < f"{other[0]:09.3f}"


RELATIONS = [pareto, by_priority, in_category, in_python]


def undominated(rows: FloatArray, dominates: Dominates) -> list[int]:
    return [i for i, row in enumerate(rows) if not any(dominates(other, row) for other in rows)]


@pytest.mark.parametrize("dominates", RELATIONS[:3])
@settings(max_examples=10)
@given(points())
def test_the_skyline_is_what_nobody_dominates(dominates: Dominates, rows: FloatArray) -> None:
    for form in (dominates, compiled(dominates)):
        assert relation_skyline(rows, form).tolist() == undominated(rows, dominates)


COMPILED: dict[Dominates, Dominates] = {}


def compiled(dominates: Dominates) -> Dominates:
    """Compile once, however many examples there are."""
    return COMPILED.setdefault(dominates, compile_relation(dominates))


def test_the_relation_of_the_skyline_gives_the_skyline() -> None:
    rng = np.random.default_rng(1)
    for rows in (rng.random((2000, 4)), rng.integers(0, 9, (2000, 3)).astype(np.float64)):
        assert relation_skyline(rows, compiled(pareto)).tolist() == sorted(skyline(rows).tolist())


@pytest.mark.parametrize("dominates", RELATIONS)
@settings(max_examples=3, deadline=None)
@given(st.data(), st.integers(0, 10**6))
def test_a_query_splits_and_merges_with_it(
    tmp_path_factory: pytest.TempPathFactory, dominates: Dominates, data: st.DataObject, seed: int
) -> None:
    """Panes are split at random, degrees jump, and every window is that of the definition."""
    batches = data.draw(streams(width=3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SlowRelationWarning)
        relation = Relation.of(dominates)
    spec = QuerySpec(Preferences(tuple(names(3)), ("min",) * 3), Windows(500, 200), relation=relation)
    options = ExecutionOptions(Splitting.EVEN, elastic=False, most=7, most_rows=40)
    folder, rng = tmp_path_factory.mktemp("query"), np.random.default_rng(seed)
    running = engine(folder, spec, options, 3)
    for number, batch in enumerate(batches):
        put(folder, number, batch, 3, rng)
        split_hard(running)
        panes = int(rng.integers(1, 6))
        running.state.degrees = Degrees(panes, 7 - panes)
        running.step()
    running.finish()
    found = {window: sorted(rows) for window, rows in results(folder, 3).items()}
    for window, values in expected(batches, spec):
        rows = np.array(values, dtype=np.float64).reshape(len(values), 3)
        assert found.pop(window) == sorted(values[i] for i in undominated(rows, dominates)), window
    assert not found


def two_of_three(one: FloatArray, other: FloatArray) -> bool:
    """Condorcet's paradox: 2-dominance, which is not transitive."""
    return int(np.sum(one <= other)) > 1 and bool(np.any(one < other))


@pytest.mark.parametrize(
    ("dominates", "said"),
    [
        (two_of_three, r"not transitive: \[.*\] dominates \[.*\], which dominates \[.*\], but"),
        (lambda one, other: one[0] <= other[0], "dominates itself"),
        (lambda one, other: one[0] != other[0], "not transitive"),
    ],
)
def test_a_relation_that_cannot_be_merged_is_refused(dominates: Dominates, said: str) -> None:
    rows = np.random.default_rng(1).integers(0, 5, (500, 3)).astype(float)
    for form in (dominates, compile_relation(dominates)):
        with pytest.raises(PreferenceError, match=said):
            check_relation(rows, form)


@pytest.mark.parametrize("dominates", RELATIONS)
def test_relations_that_can_be_merged_pass(dominates: Dominates) -> None:
    for seed in range(3):
        check_relation(np.random.default_rng(seed).integers(0, 9, (300, 3)).astype(float), dominates)


def test_a_relation_that_numba_cannot_compile_warns() -> None:
    with pytest.warns(SlowRelationWarning, match="in_python cannot be compiled"):
        assert not Relation.of(in_python).is_compiled
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Relation.of(pareto).is_compiled
        assert Relation.of(compile_relation(pareto)).name == Relation.of(pareto).name != Relation.of(by_priority).name


def test_a_top_query_needs_columns_to_count() -> None:
    with pytest.raises(PreferenceError, match="leave out top or dominates"):
        QuerySpec(Preferences(("a",), ("min",)), Windows(1000, 1000), delta=3, relation=Relation.of(pareto))


def test_another_relation_is_another_query(tmp_path: Path) -> None:
    def spec(dominates: Callable[[FloatArray, FloatArray], bool]) -> QuerySpec:
        return QuerySpec(Preferences(("a0",), ("min",)), Windows(1000, 1000), relation=Relation.of(dominates))

    engine(tmp_path, spec(by_priority), ExecutionOptions(), 1)
    with pytest.raises(PreferenceError, match="another query: relation is by_priority"):
        engine(tmp_path, spec(pareto), ExecutionOptions(), 1)
