"""The Python workers of an application, found from outside: among the processes that its Java machine has started.

PySpark starts daemons, which fork the workers. Nothing is asked of the application, and nothing of it is changed.
Where executors run on other machines, there is nothing to be found.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pyspark import SparkContext

PROCESSES = Path("/proc")
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class Process(NamedTuple):
    """One of this machine."""

    pid: int
    parent: int
    ticks: int
    """CPU time of its own, and of its children that have ended."""
    started: int
    """Tells it from others that had its number before."""


@dataclass
class PythonWorkers:
    """Of the application whose driver, or whose only process, is this Java machine."""

    java: int
    modules: frozenset[str]
    """What PySpark's daemons, or workers without one, were started as."""
    _ticks: dict[tuple[int, int], int] = field(default_factory=dict, repr=False)
    """By daemon, with its workers: those that are gone have used what they have used."""

    @classmethod
    def of(cls, context: SparkContext, java: int) -> PythonWorkers:
        """As that application starts them. Some, those of Python sources, are always PySpark's own.

        With executors elsewhere, what runs here is no measure of what the query takes.
        """
        if not (context.master or "").startswith("local"):
            return cls(java, frozenset())
        settings = [context.getConf().get(f"spark.python.{kind}.module") for kind in ("daemon", "worker")]
        return cls(java, frozenset({"pyspark.daemon", "pyspark.worker", *filter(None, settings)}))

    def find(self) -> tuple[int, ...]:
        """Those that run now, each before those that it has forked."""
        children: defaultdict[int, list[Process]] = defaultdict(list)
        for process in _processes():
            children[process.parent].append(process)
        found: list[int] = []
        for daemon in self._daemons(self.java, children):
            family = [daemon, *_below(daemon.pid, children)]
            found += [process.pid for process in family]
            key, ticks = (daemon.pid, daemon.started), sum(process.ticks for process in family)
            self._ticks[key] = max(self._ticks.get(key, 0), ticks)
        return tuple(found)

    @property
    def cpu_s(self) -> float:
        """CPU seconds of all that were found, as of the last look, since they began."""
        return sum(self._ticks.values()) / TICKS_PER_S

    def _daemons(self, pid: int, children: Mapping[int, Sequence[Process]]) -> Iterator[Process]:
        """The uppermost: what they fork has the same command line."""
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
    """All descendants, parents first."""
    for child in children.get(pid, ()):
        yield child
        yield from _below(child.pid, children)


def _processes() -> Iterator[Process]:
    """All that this machine shows; none where it has no such folder."""
    for name in os.listdir(PROCESSES) if PROCESSES.is_dir() else []:  # noqa: PTH208 - names are enough
        if name.isdigit():
            try:
                stat = (PROCESSES / name / "stat").read_bytes()
            except OSError:  # it has ended
                continue
            fields = stat[stat.rindex(b")") + 2 :].split()  # behind the program's name, which may contain anything
            yield Process(int(name), int(fields[1]), sum(map(int, fields[11:15])), int(fields[19]))
