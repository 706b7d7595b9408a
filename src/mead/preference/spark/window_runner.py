"""Runs the window stage of a micro-batch: rounds of tasks until nothing is pending."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np
import pyarrow as pa

from mead.preference.spark.control import StageWork
from mead.preference.spark.query_spec import Kernel, QuerySpec
from mead.preference.spark.state import QueryFolder
from mead.preference.spark.window_rounds import Chain, WindowRounds, spread
from mead.preference.spark.window_stage import WindowOutput, WindowWork, work_on_windows
from mead.spark.log.stream_log import WrittenFile

W = TypeVar("W")
D = TypeVar("D")

EMPTY_WINDOW = WrittenFile("", 0)
"""A window without tuples has a place in the index and no file."""


class RunTasks(Protocol):
    """Runs a function on every piece of work, each in its own task, and returns the results."""

    def __call__(self, function: Callable[[W], D], works: Sequence[W], /) -> list[D]:
        """Run the tasks; results are in the order of the work."""


@dataclass(frozen=True, eq=False)
class MergedWindows:
    """The outcome of the window stage in one micro-batch."""

    work: StageWork
    chains: tuple[Chain, ...]
    windows: tuple[tuple[int, WrittenFile], ...]
    """Complete windows, in the order of their numbers."""
    rounds: int
    written: frozenset[str]
    """Files of partial results."""

    @property
    def updates(self) -> int:
        """Number of WIN_UPDATE tasks."""
        return sum(chain.tasks for chain in self.chains if chain.update)

    @property
    def merges(self) -> int:
        """Number of MERGE tasks."""
        return sum(chain.tasks for chain in self.chains if not chain.update)


@dataclass(frozen=True)
class WindowRunner:
    """Runs the tasks of the window stage."""

    spec: QuerySpec
    kernel: Kernel
    folder: QueryFolder
    schema: pa.Schema
    """Columns of the results."""
    run: RunTasks

    def merge(self, directory: WindowRounds, workers: int, origin_us: int | None) -> MergedWindows:
        """Run rounds until nothing is pending, so that windows are complete in the order of their numbers."""
        total, all_chains, rounds = StageWork.none(workers), list[Chain](), 0
        windows, written = dict[int, WrittenFile](), set[str]()
        while chains := directory.find_chains(workers):
            all_chains += chains
            to_do = []
            for chain in chains:
                if (result := chain.trivial) is None:
                    to_do.append(chain)
                    continue
                directory.complete_chain(chain, result)
                if chain.last:
                    windows[chain.window] = EMPTY_WINDOW
            if not to_do:
                continue
            if origin_us is None:
                raise RuntimeError("results before the first tuple")
            rounds += 1
            received, busy_s = np.zeros(workers), np.zeros(workers)
            for done in self._round(to_do, workers, origin_us):
                received[done.worker] = sum(one.chain.tasks for one in done.chains)
                busy_s[done.worker] = done.busy_s
                for one in done.chains:
                    directory.complete_chain(one.chain, one.result)
                    if one.written is not None:
                        windows[one.chain.window] = one.written
                    else:
                        written.add(one.result.file)
            total = total.plus(StageWork(received, busy_s))
        return MergedWindows(total, tuple(all_chains), tuple(sorted(windows.items())), rounds, frozenset(written))

    def _round(self, chains: list[Chain], workers: int, origin_us: int) -> list[WindowOutput]:
        partials, results = self.folder.partials, self.folder.results
        works = [
            WindowWork(worker, tuple(load), partials, results, self.schema, origin_us, self.spec, self.kernel)
            for worker, load in enumerate(spread(chains, workers))
        ]
        return self.run(work_on_windows, works)
