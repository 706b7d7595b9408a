"""Overlaps the stages: windows of a micro-batch are merged while the panes of the next are computed."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Self

from mead.preference.spark.engine import ComputedPanes, Engine, Step


class OverlappedStages:
    """Two stages at once, at most one micro-batch apart. At the end of the block, both have ended.

    Windows have a thread of their own. Panes are computed in the caller's, which waits before it hands over the next
    micro-batch: if the windows are slow, tuples gather in the log and not in memory.
    """

    def __init__(self, engine: Engine, note: Callable[[Step], object]) -> None:
        self._engine, self._note = engine, note
        self._windows = ThreadPoolExecutor(1, thread_name_prefix="mead-windows")
        self._computed: ComputedPanes | None = None
        """The last micro-batch of the pane stage."""
        self._merging: Future[None] | None = None
        """The window stage of that micro-batch."""

    def advance(self) -> bool:
        """Compute the panes of the next micro-batch and hand them on; return False if there are no new tuples."""
        if self._merging is not None and self._merging.done():
            self._merging.result()  # raises its error
        computed = self._engine.compute_panes(self._computed)
        if computed is not None:
            self._hand_on(computed)
        return computed is not None

    def finish(self) -> None:
        """Complete the open panes, after the stream has ended and been processed."""
        self._hand_on(self._engine.close_panes(self._computed))

    def _hand_on(self, computed: ComputedPanes) -> None:
        self._wait()
        self._computed = computed
        self._merging = self._windows.submit(self._merge, computed)

    def _merge(self, computed: ComputedPanes) -> None:
        self._note(self._engine.merge_windows(computed))

    def _wait(self) -> None:
        if self._merging is not None:
            self._merging.result()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._windows.shutdown()
        if kind is None:
            self._wait()
