"""Short posts, made from nothing but their numbers, and a sliding window over them: same number, same post.

Most words of a post are drawn by Zipf's law. Some posts are about a topic, a few words that come together, and which
topics are talked about changes as the stream goes on: so there are patterns to find, and they come and go.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pyarrow as pa

from mead.arrays import IntArray

VOCABULARY = 300
TOPICS = (
    "rain train late",
    "match goal penalty",
    "coffee cake sunday morning",
    "flight gate closed",
    "concert tickets sold",
    "phone update battery",
    "election result debate",
    "snow road accident",
)
TALKED_ABOUT = 3
"""Topics that are talked about at a time."""
SPELL = 400
"""Posts after which one of these topics gives way to another."""
ABOUT_A_TOPIC = 0.4
"""The part of posts that are about a topic."""
MOST_WORDS = 5
"""The most words of a post beside those of its topic."""

SEED = 20_061_001


def make_window(window: int) -> Callable[[IntArray], pa.RecordBatch]:
    """A function from numbers of posts to the two columns ``entering`` and ``leaving``.

    A post that enters a window of that many pushes the oldest one out, which is null as long as the window is not full.
    In a pipeline file: a ``payload`` with ``options: {window: 1000}``.

    >>> make_window(2)(np.array([1, 2]))["leaving"].to_pylist() == [None, post(0)]
    True
    """
    if window < 1:
        raise ValueError(f"window must be at least 1 post, not {window}")
    return partial(_entering_and_leaving, window)


def post(number: int) -> str:
    """The post of that number.

    >>> post(7)
    'w2 w0 w49 w1 w242 coffee cake sunday morning'
    """
    rng = np.random.default_rng([SEED, number])
    ranks = np.minimum(rng.zipf(1.4, size=rng.integers(1, MOST_WORDS + 1)), VOCABULARY) - 1
    words = [f"w{rank}" for rank in ranks.tolist()]
    if rng.random() < ABOUT_A_TOPIC:
        topic = TOPICS[(number // SPELL + int(rng.integers(TALKED_ABOUT))) % len(TOPICS)].split()
        words += [word for word in topic if rng.random() < 0.9]
    return " ".join(words)


def _entering_and_leaving(window: int, numbers: IntArray) -> pa.RecordBatch:
    entering = [post(number) for number in numbers.tolist()]
    leaving = [post(number - window) if number >= window else None for number in numbers.tolist()]
    return pa.record_batch({"entering": pa.array(entering, pa.string()), "leaving": pa.array(leaving, pa.string())})
