"""Maximal frequent itemsets of a window by brute force: every set of words of every post is counted."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

from pattern_detection.posts import post


def maximal(posts: list[str], threshold: int, longest: int) -> set[str]:
    counts: Counter[frozenset[str]] = Counter()
    for one in posts:
        words = sorted(set(one.split()))
        counts.update(frozenset(some) for size in range(1, longest + 1) for some in combinations(words, size))
    frequent = [itemset for itemset, count in counts.items() if count >= threshold]
    return {" ".join(sorted(s)) for s in frequent if not any(s < other for other in frequent)}


def last_window(posts: int, window: int) -> list[str]:
    return [post(number) for number in range(max(0, posts - window), posts)]
