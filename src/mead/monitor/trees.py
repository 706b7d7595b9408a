"""When everything that came of an input is done, from what operators read and wrote of it.

An input is done when every row that came of it and was written for an operator has been read there. So it takes one
count per input and operator: rows written for it minus rows it has read.

Reports of different operators may come in any order, those of one operator in its own. Then no input seems done too
early. Take the first micro-batch whose report is missing. The rows that it read were written by batches whose reports
are there, and its operator has reported no later batch. So at this operator more rows were written than read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from mead.arrays import IntArray
from mead.queueing import PATH_SEPARATOR
from mead.values import InputReading, Pipeline

MOST_INPUTS = 50_000
"""Inputs that are followed at the same time. The oldest are given up: a report of theirs may be lost."""


@dataclass(slots=True)
class Tree:
    """One input, or several of the same stamp, and the rows that came of it."""

    inputs: int = 0
    """Rows of the source; 0 as long as none has been reported."""
    last_us: int = 0
    """When the last of its rows so far was done."""
    unread: Counter[str] = field(default_factory=Counter)
    """By operator, rows written for it that it has not read."""


class TreeMonitor:
    """Follows inputs by their stamps. Operators that lie on no judged path are left out."""

    def __init__(self, pipeline: Pipeline) -> None:
        self.first = pipeline.sources[0]
        judged = {name for path in pipeline.judged_paths for name in path.split(PATH_SEPARATOR)}
        self.readers: Mapping[str, Sequence[str]] = {
            o.name: [edge.target for edge in pipeline.edges if edge.source == o.name and edge.target in judged]
            for o in pipeline.operators
        }
        self._judged = judged
        self._trees: dict[int, Tree] = {}
        self._done, self._done_us = 0, 0

    def add(self, operator: str, done_us: int, read_us: IntArray, written_us: Mapping[str, IntArray]) -> None:
        """Add one micro-batch: the stamps of the rows that it read, and of those it wrote, by reader ("" for all)."""
        if operator not in self._judged:
            return
        touched = set()
        for stamp, rows in _counted(read_us):
            tree = self._tree(stamp)
            tree.last_us = max(tree.last_us, done_us)
            if operator == self.first:
                tree.inputs += rows
            else:
                tree.unread[operator] -= rows
            touched.add(stamp)
        for name, stamps_us in written_us.items():
            readers = self.readers[operator] if not name else [name] if name in self.readers[operator] else []
            for stamp, rows in _counted(stamps_us) if readers else ():
                for reader in readers:
                    self._tree(stamp).unread[reader] += rows
                touched.add(stamp)
        for stamp in touched:
            self._close(stamp)

    def reading(self) -> InputReading:
        """The inputs that were done since the last reading."""
        reading = InputReading(self._done, self._done_us / 1e6)
        self._done, self._done_us = 0, 0
        return reading

    def _tree(self, stamp: int) -> Tree:
        if stamp not in self._trees:
            self._trees[stamp] = Tree()
            if len(self._trees) > MOST_INPUTS:
                del self._trees[next(iter(self._trees))]
        return self._trees[stamp]

    def _close(self, stamp: int) -> None:
        tree = self._trees.get(stamp)
        if tree is not None and tree.inputs and not any(tree.unread.values()):
            del self._trees[stamp]
            self._done += tree.inputs
            self._done_us += tree.inputs * max(tree.last_us - stamp, 0)


def _counted(stamps_us: IntArray) -> list[tuple[int, int]]:
    stamps, rows = np.unique(stamps_us, return_counts=True)
    return list(zip(stamps.tolist(), rows.tolist(), strict=True))
