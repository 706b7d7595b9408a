"""Pattern generator: every set of words of a post that enters the window or leaves it is a candidate.

That is exponential in the length of a post, and what makes the demand of a tuple vary. ``longest`` bounds the size of
sets: a pattern is then maximal among those that are not longer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import combinations

import pyarrow as pa

OUTPUT_SCHEMA = "arrival_us bigint, itemset string, occurrences int"

ROW = pa.schema([("arrival_us", pa.int64()), ("itemset", pa.string()), ("occurrences", pa.int32())])

LONGEST = 4


def make_generator(longest: int = LONGEST) -> Callable[[pa.RecordBatch], pa.RecordBatch]:
    """A function from ``arrival_us, entering, leaving`` to one row for every candidate, +1 or -1 of its occurrences.

    >>> posts = pa.record_batch({"arrival_us": [5], "entering": ["late train late"], "leaving": ["sun"]})
    >>> make_generator()(posts).to_pylist()
    ... # doctest: +NORMALIZE_WHITESPACE
    [{'arrival_us': 5, 'itemset': 'late', 'occurrences': 1},
     {'arrival_us': 5, 'itemset': 'train', 'occurrences': 1},
     {'arrival_us': 5, 'itemset': 'late train', 'occurrences': 1},
     {'arrival_us': 5, 'itemset': 'sun', 'occurrences': -1}]
    """
    if longest < 1:
        raise ValueError(f"longest must be at least 1 word, not {longest}")
    return partial(_candidates, longest)


def itemsets(post: str | None, longest: int) -> Iterator[str]:
    """Sets of different words, each written in the order of the alphabet."""
    words = sorted(set((post or "").split()))
    for size in range(1, longest + 1):
        for some in combinations(words, size):
            yield " ".join(some)


def _candidates(longest: int, batch: pa.RecordBatch) -> pa.RecordBatch:
    stamps, candidates, changes = [], [], []
    posts = zip(*(batch.column(name).to_pylist() for name in ("arrival_us", "entering", "leaving")), strict=True)
    for arrival_us, entering, leaving in posts:
        for post, change in ((entering, 1), (leaving, -1)):
            for itemset in itemsets(post, longest):
                stamps.append(arrival_us)
                candidates.append(itemset)
                changes.append(change)
    return pa.record_batch([stamps, candidates, changes], schema=ROW)
