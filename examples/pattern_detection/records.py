"""The detector's record of an itemset, and the messages that follow when it changes.

An itemset is frequent if at least ``threshold`` posts of the window contain it, and maximal if no frequent one contains
it. A part of a frequent itemset is frequent itself. So a frequent itemset is maximal exactly if none of those with one
word more is frequent, and it is enough that each tells those with one word less when it becomes frequent, or is no
more. These may be kept somewhere else, therefore the loop. Nothing follows from such a message but, perhaps, that an
itemset is maximal or not: messages cause no messages, and their order makes no difference in the end.
"""

from __future__ import annotations

from collections.abc import Iterable, MutableMapping
from dataclasses import dataclass, field
from typing import NamedTuple

Records = MutableMapping[str, tuple[int, int]]
"""For each itemset, its occurrences in the window and its frequent supersets with one word more. Zeros are left out."""


class Change(NamedTuple):
    """Changes of one itemset since the last turn, added up."""

    itemset: str
    arrival_us: int
    """When the first tuple came that has to do with it, so that no response time looks shorter than it was."""
    occurrences: int = 0
    supersets: int = 0


@dataclass
class Consequences:
    """Messages to smaller sets, and reports."""

    to_subsets: list[Change] = field(default_factory=list)
    maximal: list[tuple[str, int, bool]] = field(default_factory=list)
    """Itemset, stamp, and whether it is maximal now."""


def apply(records: Records, changes: Iterable[Change], threshold: int) -> Consequences:
    """Bring the records up to date. An itemset may be named only once.

    >>> records = {"late train": (1, 0), "late": (2, 0)}
    >>> apply(records, [Change("late train", 5, occurrences=1)], threshold=2)
    ... # doctest: +NORMALIZE_WHITESPACE
    Consequences(to_subsets=[Change(itemset='train', arrival_us=5, occurrences=0, supersets=1),
                             Change(itemset='late', arrival_us=5, occurrences=0, supersets=1)],
                 maximal=[('late train', 5, True)])
    >>> apply(records, [Change("late", 5, supersets=1)], threshold=2)
    Consequences(to_subsets=[], maximal=[('late', 5, False)])
    """
    told = Consequences()
    for change in changes:
        count, supersets = records.get(change.itemset, (0, 0))
        now_count, now_supersets = count + change.occurrences, supersets + change.supersets
        was_frequent, is_frequent = count >= threshold, now_count >= threshold
        if was_frequent != is_frequent:
            one = 1 if is_frequent else -1
            told.to_subsets += [Change(some, change.arrival_us, supersets=one) for some in subsets(change.itemset)]
        is_maximal = is_frequent and not now_supersets
        if (was_frequent and not supersets) != is_maximal:
            told.maximal.append((change.itemset, change.arrival_us, is_maximal))
        if now_count or now_supersets:
            records[change.itemset] = (now_count, now_supersets)
        else:
            records.pop(change.itemset, None)
    return told


def subsets(itemset: str) -> list[str]:
    """The subsets of an itemset with one word less.

    >>> subsets("late rain train"), subsets("rain")
    (['rain train', 'late train', 'late rain'], [])
    """
    words = itemset.split()
    return [" ".join(words[:n] + words[n + 1 :]) for n in range(len(words))] if len(words) > 1 else []
