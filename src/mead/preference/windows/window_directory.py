"""The window stage: pending results and next tasks of every window.

WIN_UPDATE merges a pending result into the window's own, one at a time per window. MERGE makes one pending result of
two, and needs no free window. Either task leaves one result fewer, so a window takes exactly as many tasks as its panes
have partitions, in any mix, and the last one is known when it is made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, Self

from mead.preference.windows.messages import UNKNOWN_COUNT, PaneResult, R
from mead.preference.windows.panes import Windows


@dataclass(frozen=True)
class Update(Generic[R]):
    """WIN_UPDATE: merge one result into that of the window."""

    window: int
    state: R | None
    """The window's result so far; None before the first."""
    result: R
    last: bool
    """Whether the window is complete after this task."""


@dataclass(frozen=True)
class Merge(Generic[R]):
    """MERGE: make one result of two."""

    window: int
    one: R
    other: R


@dataclass
class Descriptor(Generic[R]):
    """One open window."""

    counts: dict[int, int | None]
    """The number of partitions of each of its panes; None while it is unknown."""
    state: R | None = None
    pending: list[R] = field(default_factory=list)
    completed: int = 0
    """Number of completed tasks."""
    busy: bool = False
    """Whether a WIN_UPDATE of it is running."""

    @property
    def tasks(self) -> int | None:
        """Number of tasks it needs; None while the count of a pane is unknown."""
        counts = list(self.counts.values())
        return None if None in counts else sum(count or 0 for count in counts)


class WindowDirectory(Generic[R]):
    """The open windows, oldest first. Hands out tasks and takes their results; knows no workers.

    >>> directory = WindowDirectory(Windows(length_ms=200, slide_ms=100))
    >>> for pane in (0, 1):
    ...     directory.add(PaneResult(pane, 1, {pane}))
    >>> (task,) = directory.find_tasks(1)
    >>> task
    Update(window=0, state=None, result={1}, last=False)
    >>> directory.complete(task, {1})
    >>> directory.find_tasks(2)
    [Update(window=0, state={1}, result={0}, last=True), Update(window=1, state=None, result={1}, last=False)]
    """

    def __init__(self, windows: Windows, *, merging: bool = True) -> None:
        self.windows = windows
        self.merging = merging
        """Whether to make MERGE tasks. Without them this is the scheduling that the paper improves on (fb-default)."""
        self._open: dict[int, Descriptor[R]] = {}
        self._next = 0
        """The first window that has not been opened yet: they are opened in order."""

    @property
    def pending(self) -> int:
        """Pending results of all windows."""
        return sum(len(descriptor.pending) for descriptor in self._open.values())

    def add(self, result: PaneResult[R]) -> None:
        """Add a result of the pane stage to every window that contains its pane."""
        for window in self.windows.of_pane(result.pane):
            descriptor = self._descriptor(window)
            if result.count != UNKNOWN_COUNT and descriptor.counts[result.pane] is None:
                descriptor.counts[result.pane] = result.count
            descriptor.pending.append(result.result)

    def _descriptor(self, window: int) -> Descriptor[R]:
        while self._next <= window:
            self._open[self._next] = Descriptor(dict.fromkeys(self.windows.panes(self._next)))
            self._next += 1
        return self._open[window]

    def find_tasks(self, most: int) -> list[Update[R] | Merge[R]]:
        """Return up to ``most`` tasks: first updates of idle windows, oldest first, then mergers (Alg. 3)."""
        tasks: list[Update[R] | Merge[R]] = []
        for window in list(self._open):
            if len(tasks) == most:
                return tasks
            descriptor = self._open[window]
            if not descriptor.busy and descriptor.pending:
                tasks.append(self._update(window, descriptor))
        if self.merging:
            for window, descriptor in self._open.items():
                if len(tasks) == most:
                    break
                if len(descriptor.pending) >= 2:
                    tasks.append(Merge(window, descriptor.pending.pop(), descriptor.pending.pop()))
        return tasks

    def _update(self, window: int, descriptor: Descriptor[R]) -> Update[R]:
        """Make the next update. The last one removes the descriptor."""
        last = descriptor.tasks == descriptor.completed + 1
        task = Update(window, descriptor.state, descriptor.pending.pop(), last)
        descriptor.busy = True
        if last:
            del self._open[window]
        return task

    def complete(self, task: Update[R] | Merge[R], result: R) -> None:
        """Take the result of a task."""
        if isinstance(task, Update) and task.last:
            return
        descriptor = self._open[task.window]
        descriptor.completed += 1
        if isinstance(task, Merge):
            descriptor.pending.append(result)
        else:
            descriptor.state, descriptor.busy = result, False

    def as_json(self, encode: Callable[[R], Any]) -> dict[str, Any]:
        """Return the state as plain values; only valid while no task is running."""
        if any(descriptor.busy for descriptor in self._open.values()):
            raise ValueError("tasks are running; save the directory when they are done")
        return {
            "length_ms": self.windows.length_ms,
            "slide_ms": self.windows.slide_ms,
            "merging": self.merging,
            "next": self._next,
            "open": [
                {
                    "window": window,
                    "counts": list(descriptor.counts.values()),
                    "state": None if descriptor.state is None else encode(descriptor.state),
                    "pending": [encode(result) for result in descriptor.pending],
                    "completed": descriptor.completed,
                }
                for window, descriptor in self._open.items()
            ],
        }

    @classmethod
    def from_json(cls, document: dict[str, Any], decode: Callable[[Any], R]) -> Self:
        """Restore the state of ``as_json``."""
        windows = Windows(document["length_ms"], document["slide_ms"])
        directory = cls(windows, merging=document["merging"])
        directory._next = document["next"]
        for entry in document["open"]:
            counts = dict(zip(windows.panes(entry["window"]), entry["counts"], strict=True))
            state = None if entry["state"] is None else decode(entry["state"])
            pending = [decode(result) for result in entry["pending"]]
            directory._open[entry["window"]] = Descriptor(counts, state, pending, entry["completed"])
        return directory


class OrderedCollector(Generic[R]):
    """Releases complete windows in the order of their numbers.

    >>> collector = OrderedCollector()
    >>> list(collector.add(1, "b")), list(collector.add(0, "a"))
    ([], [(0, 'a'), (1, 'b')])
    """

    def __init__(self, following: int = 0) -> None:
        self.following = following
        self._waiting: dict[int, R] = {}

    def add(self, window: int, result: R) -> Iterator[tuple[int, R]]:
        """Yield the windows that can leave now."""
        self._waiting[window] = result
        while self.following in self._waiting:
            yield self.following, self._waiting.pop(self.following)
            self.following += 1
