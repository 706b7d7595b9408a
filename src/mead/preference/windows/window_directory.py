"""The window stage: which results wait for which window, and which tasks come next (Elastic-PPQ, section 3.2).

Two kinds of task: WIN_UPDATE merges a waiting result into the window's own, one at a time per window; MERGE makes one
waiting result of two, and needs no window to be free. Either kind leaves one result fewer, so a window takes exactly as
many tasks as its panes have partitions, in whatever mix, and the last of them is known when it is made.
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
    """How many tasks are done."""
    busy: bool = False
    """Whether a WIN_UPDATE of it is under way."""

    @property
    def tasks(self) -> int | None:
        """How many tasks it needs in all; None while the count of a pane is unknown."""
        counts = list(self.counts.values())
        return None if None in counts else sum(count or 0 for count in counts)


class WindowDirectory(Generic[R]):
    """The open windows, oldest first. It knows no workers: it is asked for tasks, and told when they are done.

    >>> directory = WindowDirectory(Windows(length_ms=200, slide_ms=100))
    >>> for pane in (0, 1):
    ...     directory.add(PaneResult(pane, 1, {pane}))
    >>> (task,) = directory.find_tasks(1)
    >>> task
    Update(window=0, state=None, result={1}, last=False)
    >>> directory.done(task, {1})
    >>> directory.find_tasks(2)
    [Update(window=0, state={1}, result={0}, last=True), Update(window=1, state=None, result={1}, last=False)]
    """

    def __init__(self, windows: Windows, *, merging: bool = True) -> None:
        self.windows = windows
        self.merging = merging
        """Without MERGE tasks this is the scheduling that the paper improves on (fb-default)."""
        self._open: dict[int, Descriptor[R]] = {}
        self._next = 0
        """No window before this one has been opened or will be: they are made in order."""

    @property
    def pending(self) -> int:
        """Results that wait, over all windows."""
        return sum(len(descriptor.pending) for descriptor in self._open.values())

    def add(self, result: PaneResult[R]) -> None:
        """Add a result of the pane stage to every window that its pane belongs to."""
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
        """Up to so many tasks: first for windows that nobody works on, oldest first, then mergers (Alg. 3)."""
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
        """Make the next update. The last one removes the descriptor: nobody else will ask for this window."""
        last = descriptor.tasks == descriptor.completed + 1
        task = Update(window, descriptor.state, descriptor.pending.pop(), last)
        descriptor.busy = True
        if last:
            del self._open[window]
        return task

    def done(self, task: Update[R] | Merge[R], result: R) -> None:
        """Take in a worker's feedback: the result of a task."""
        if isinstance(task, Update) and task.last:
            return
        descriptor = self._open[task.window]
        descriptor.completed += 1
        if isinstance(task, Merge):
            descriptor.pending.append(result)
        else:
            descriptor.state, descriptor.busy = result, False

    def as_json(self, encode: Callable[[R], Any]) -> dict[str, Any]:
        """The state as plain values; only while no task is under way, as between micro-batches."""
        if any(descriptor.busy for descriptor in self._open.values()):
            raise ValueError("tasks are under way; save the directory when they are done")
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
        """The directory that ``as_json`` has written."""
        windows = Windows(document["length_ms"], document["slide_ms"])
        directory = cls(windows, merging=document["merging"])
        directory._next = document["next"]
        for entry in document["open"]:
            counts = dict(zip(windows.panes(entry["window"]), entry["counts"], strict=True))
            state = None if entry["state"] is None else decode(entry["state"])
            pending = [decode(result) for result in entry["pending"]]
            directory._open[entry["window"]] = Descriptor(counts, state, pending, entry["completed"])
        return directory


class InOrder(Generic[R]):
    """The collector: complete windows leave in the order of their numbers.

    >>> collector = InOrder()
    >>> list(collector.add(1, "b")), list(collector.add(0, "a"))
    ([], [(0, 'a'), (1, 'b')])
    """

    def __init__(self, following: int = 0) -> None:
        self.following = following
        self._waiting: dict[int, R] = {}

    def add(self, window: int, result: R) -> Iterator[tuple[int, R]]:
        """The windows that can leave now."""
        self._waiting[window] = result
        while self.following in self._waiting:
            yield self.following, self._waiting.pop(self.following)
            self.following += 1
