"""Find the Python workers of an application among processes.

PySpark starts daemons, which fork the workers. The application is not changed. Executors on other machines are not
found.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from mead.cpu import PROCESSES, TICKS_PER_S, Process, list_processes

if TYPE_CHECKING:
    from pyspark import SparkContext


@dataclass
class PythonWorkers:
    """The Python workers of the application whose driver is this Java machine."""

    java: int
    modules: frozenset[str]
    """Modules that identify daemons, and workers without a daemon, in their command lines."""
    _ticks: dict[tuple[int, int], int] = field(default_factory=dict, repr=False)
    """CPU ticks of each daemon with its workers, also of those that have ended."""

    @classmethod
    def of(cls, context: SparkContext, java: int) -> PythonWorkers:
        """Return the workers as that application starts them, including PySpark's own for Python sources.

        With executors elsewhere, local processes do not measure the query, so none are found.
        """
        if not (context.master or "").startswith("local"):
            return cls(java, frozenset())
        settings = [context.getConf().get(f"spark.python.{kind}.module") for kind in ("daemon", "worker")]
        return cls(java, frozenset({"pyspark.daemon", "pyspark.worker", *filter(None, settings)}))

    def find(self) -> tuple[int, ...]:
        """Return the process ids of the running workers, each before those that it has forked."""
        children: defaultdict[int, list[Process]] = defaultdict(list)
        for process in list_processes():
            children[process.parent].append(process)
        found: list[int] = []
        for daemon in self._daemons(self.java, children):
            family = [daemon, *_below(daemon.pid, children)]
            found += [process.pid for process in family]
            ticks = sum(process.ticks + process.children_ticks for process in family)
            key = (daemon.pid, daemon.started_ticks)
            self._ticks[key] = max(self._ticks.get(key, 0), ticks)
        return tuple(found)

    @property
    def cpu_s(self) -> float:
        """CPU seconds of all workers found so far, as of the last look."""
        return sum(self._ticks.values()) / TICKS_PER_S

    def _daemons(self, pid: int, children: Mapping[int, Sequence[Process]]) -> Iterator[Process]:
        """Yield the topmost daemons: their children have the same command line."""
        for child in children.get(pid, ()):
            if self._is_worker(child.pid):
                yield child
            else:
                yield from self._daemons(child.pid, children)

    def _is_worker(self, pid: int) -> bool:
        try:
            words = (PROCESSES / str(pid) / "cmdline").read_text(errors="replace").split("\0")
        except OSError:  # it has ended
            return False
        return any(option == "-m" and module in self.modules for option, module in pairwise(words))


def _below(pid: int, children: Mapping[int, Sequence[Process]]) -> Iterator[Process]:
    """Yield all descendants, parents first."""
    for child in children.get(pid, ()):
        yield child
        yield from _below(child.pid, children)
