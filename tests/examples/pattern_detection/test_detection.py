"""The detector against brute force, with its loop closed by hand, whatever the micro-batches and the parts."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pattern_detection.detector import make_detector, summed
from pattern_detection.generator import itemsets, make_generator
from pattern_detection.posts import TOPICS, make_window, post
from pattern_detection.records import Change, Records, apply, subsets
from tests.examples.pattern_detection.oracle import last_window, maximal

WORDS = st.lists(st.sampled_from("abcde"), max_size=5).map(" ".join)


def detected(
    posts: list[str], window: int, threshold: int, longest: int, cuts: list[int], delays: list[int]
) -> tuple[set[str], Records]:
    """What is maximal in the end. Posts come in parts; messages of the loop come some parts later."""
    columns = {
        "arrival_us": pa.array(range(len(posts)), pa.int64()),
        "entering": pa.array(posts, pa.string()),
        "leaving": pa.array([posts[n - window] if n >= window else None for n in range(len(posts))], pa.string()),
    }
    candidates = make_generator(longest)(pa.record_batch(columns))
    candidates = candidates.append_column("supersets", pa.nulls(candidates.num_rows, pa.int32()))
    bounds = sorted({0, candidates.num_rows, *(cut % (candidates.num_rows + 1) for cut in cuts)})
    waiting = [candidates.slice(first, end - first) for first, end in pairwise(bounds)]
    records: Records = {}
    late: dict[int, list[Change]] = {}
    found: dict[str, bool] = {}
    step = 0
    while step < len(waiting) or late:
        groups = [[change] for change in late.pop(step, [])]
        if step < len(waiting):
            groups.append(summed(waiting[step]))
        for group in groups:
            told = apply(records, group, threshold)
            found |= {itemset: is_so for itemset, _, is_so in told.maximal}
            for n, change in enumerate(told.to_subsets):
                late.setdefault(step + 1 + delays[n % len(delays)], []).append(change)
        step += 1
    return {itemset for itemset, is_so in found.items() if is_so}, records


@settings(max_examples=60)
@given(
    st.lists(WORDS, max_size=14),
    st.integers(1, 16),
    st.integers(1, 4),
    st.integers(1, 4),
    st.lists(st.integers(0, 1000), max_size=6),
    st.lists(st.integers(0, 4), min_size=1, max_size=5),
)
def test_maximal_patterns_are_those_of_brute_force(
    posts: list[str], window: int, threshold: int, longest: int, cuts: list[int], delays: list[int]
) -> None:
    found, records = detected(posts, window, threshold, longest, cuts, delays)
    assert found == maximal(posts[-window:] if posts else [], threshold, longest)
    assert all(count >= 0 and supersets >= 0 for count, supersets in records.values())


def test_messages_of_the_loop_may_be_late() -> None:
    posts = [post(number) for number in range(120)]
    for delay in (0, 1, 7):
        found, _ = detected(posts, 50, 4, 3, list(range(0, 4000, 130)), [delay])
        assert found == maximal(posts[-50:], 4, 3)


def test_an_empty_window_leaves_no_record() -> None:
    records: Records = {}
    apply(records, [Change("a", 0, occurrences=2)], 2)
    apply(records, [Change("a", 0, occurrences=-2)], 2)
    assert records == {}


def test_patterns_of_the_generated_posts_come_and_go() -> None:
    early, late = (maximal(last_window(posts, 400), 30, 4) for posts in (400, 2400))
    assert early != late
    assert max(len(pattern.split()) for pattern in early) >= 3
    topics = {" ".join(sorted(topic.split())) for topic in TOPICS}
    assert topics & early
    assert topics & late


def test_a_window_has_as_many_posts_entering_as_it_holds_before_one_leaves() -> None:
    rows = make_window(3)(np.arange(5))
    assert rows["entering"].to_pylist() == [post(n) for n in range(5)]
    assert rows["leaving"].to_pylist() == [None, None, None, post(0), post(1)]


def test_what_rows_say_of_an_itemset_is_added_up() -> None:
    columns = {"itemset": ["a", "b", "a"], "arrival_us": [3, 2, 1], "occurrences": [1, 1, -1]}
    batch = pa.record_batch({**columns, "supersets": pa.array([None, None, 2], pa.int32())})
    assert summed(batch) == [Change("a", 1, occurrences=0, supersets=2), Change("b", 2, occurrences=1)]


def test_of_a_post_without_words_there_are_no_candidates() -> None:
    assert list(itemsets(None, 3)) == list(itemsets("", 3)) == []
    assert subsets("a") == []


@pytest.mark.parametrize(
    "mistake",
    [lambda: make_detector(0), lambda: make_generator(0), lambda: make_window(0)],
)
def test_numbers_that_make_no_sense_are_refused(mistake: object) -> None:
    with pytest.raises(ValueError, match="must be at least 1"):
        mistake()  # type: ignore[operator]
