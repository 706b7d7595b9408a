"""The window stage in rounds, for workers that all end at the same time.

A round is one Spark job. In the paper a ready worker asks for its next task; here all get their tasks at the start of a
round. A window with pending results gets a WIN_UPDATE, and its worker continues with the window's other results: one
chain, since only one worker at a time may update a window. Other workers MERGE results of windows with many, which are
merged further in the next round. Tasks are counted as in the paper, one for each result merged into another, so that
the same rule tells when a window is complete.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mead.preference.windows.window_directory import Descriptor, WindowDirectory
from mead.spark.log.stream_log import Extent


@dataclass(frozen=True)
class Chain:
    """Tasks of one worker on one window, one after the other: several results become one."""

    window: int
    results: tuple[Extent, ...]
    """In an update, the window's own result comes first."""
    tasks: int
    update: bool
    """WIN_UPDATE, and else MERGE."""
    last: bool
    """Whether the window is complete after this."""

    @property
    def rows(self) -> int:
        """Number of tuples to read."""
        return sum(result.count for result in self.results)

    @property
    def trivial(self) -> Extent | None:
        """The result if no work is needed, otherwise None."""
        filled = [result for result in self.results if result.count]
        if len(filled) > 1 or (self.last and filled):
            return None
        return filled[0] if filled else self.results[0]


class WindowRounds(WindowDirectory[Extent]):
    """The open windows, and the chains of each round.

    >>> from mead.preference.windows.messages import PaneResult
    >>> from mead.preference.windows.panes import Windows
    >>> directory = WindowRounds(Windows(length_ms=100, slide_ms=100))
    >>> for part in range(4):
    ...     directory.add(PaneResult(0, 4, Extent(f"{part}", 0, 9)))
    >>> update, merge = directory.find_chains(workers=2)
    >>> (update.tasks, update.last), (merge.tasks, merge.last)
    ((2, False), (1, False))
    >>> for chain in (update, merge):
    ...     directory.complete_chain(chain, Extent("made", 0, 9))
    >>> [(chain.tasks, chain.last) for chain in directory.find_chains(workers=2)]
    [(1, True)]
    """

    def find_chains(self, workers: int) -> list[Chain]:
        """Return the chains of a round: at least one for every window with pending results, oldest first."""
        waiting = [(window, descriptor) for window, descriptor in self._open.items() if descriptor.pending]
        idle = max(0, workers - len(waiting)) if self.merging else 0
        chains: list[Chain] = []
        for place, (window, descriptor) in enumerate(waiting):
            helpers = (idle + place) // len(waiting)  # the oldest windows get no more than the others
            chains += self._chains(window, descriptor, min(helpers, (len(descriptor.pending) - 1) // 2))
        return chains

    def _chains(self, window: int, descriptor: Descriptor[Extent], helpers: int) -> list[Chain]:
        """Divide the pending results: one part for the update, at least two results for every helper."""
        pending, descriptor.pending = descriptor.pending, []
        part = len(pending) // (helpers + 1)
        last = descriptor.tasks == descriptor.completed + part and not helpers
        state = () if descriptor.state is None else (descriptor.state,)
        chains = [Chain(window, (*state, *pending[:part]), part, update=True, last=last)]
        rest = pending[part:]
        for helper in range(helpers):
            some = tuple(rest[helper::helpers])
            chains.append(Chain(window, some, len(some) - 1, update=False, last=False))
        if last:
            del self._open[window]
        return chains

    def complete_chain(self, chain: Chain, result: Extent) -> None:
        """Take the result of a chain."""
        if chain.last:
            return
        descriptor = self._open[chain.window]
        descriptor.completed += chain.tasks
        if chain.update:
            descriptor.state = result
        else:
            descriptor.pending.append(result)

    @property
    def extents(self) -> list[Extent]:
        """All results that are still needed; only valid between rounds."""
        states = [descriptor.state for descriptor in self._open.values() if descriptor.state is not None]
        return states + [result for descriptor in self._open.values() for result in descriptor.pending]


def spread(chains: Sequence[Chain], workers: int) -> list[list[Chain]]:
    """Spread chains over workers: the largest first, each to the worker with the fewest tuples.

    Workers that would get nothing are left out (Graham, "Bounds on Multiprocessing Timing Anomalies", 1969).
    """
    loads: list[list[Chain]] = [[] for _ in range(min(workers, len(chains)))]
    rows = [0] * len(loads)
    for chain in sorted(chains, key=lambda chain: -chain.rows):
        least = rows.index(min(rows))
        loads[least].append(chain)
        rows[least] += chain.rows
    return loads
