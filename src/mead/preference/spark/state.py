"""What a query remembers from one micro-batch to the next, and the folder in which it finds that again after a crash.

A micro-batch counts from the moment at which its line is in the index of the results. Before that its state is written
to a file of its own, and the one of the micro-batch before is still there. So results, the place in the stream and all
state change at the same moment, or not at all.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mead.preference.control.degrees import Degrees
from mead.preference.control.threshold import Threshold
from mead.preference.kernels.dominance import PreferenceError
from mead.preference.spark.control import micro_batch_pid
from mead.preference.spark.emission import Emitter
from mead.preference.spark.query_spec import Asked, Working
from mead.preference.spark.window_rounds import WindowRounds
from mead.preference.windows.owner_table import OwnerTable, Splitting
from mead.preference.windows.pane_emitter import PaneEmitter
from mead.spark.log.stream_log import DATA, Extent, StreamLog, Written

READER = "preference"
"""Under which the tuples are kept that have not been worked on."""

KEEPER = "folder"
"""The name under which results are kept for later readers."""


@dataclass
class QueryState:
    """The state of a query after a micro-batch."""

    emitter: Emitter
    directory: WindowRounds
    degrees: Degrees
    """The degrees from the next micro-batch on."""
    step: int = -1
    """The number of the micro-batch."""
    offset: int = 0
    """The first row of the log of tuples that has not been worked on."""
    held: dict[int, dict[int, Extent]] = field(default_factory=dict)
    """Results of open panes, by worker and pane."""

    @classmethod
    def fresh(cls, asked: Asked, working: Working) -> QueryState:
        """The state before the first micro-batch."""
        table = OwnerTable(working.most, working.splitting)
        panes = PaneEmitter(table, _threshold(working))
        panes.add(range(working.start.panes))
        emitter = Emitter(asked.windows, asked.k_slack(), panes)
        return cls(emitter, WindowRounds(asked.windows, merging=working.merging), working.start)

    @property
    def extents(self) -> list[Extent]:
        """All results that this state needs."""
        return self.directory.extents + [extent for panes in self.held.values() for extent in panes.values()]

    def as_json(self) -> dict[str, Any]:
        """Plain values, from which ``from_json`` makes the same again."""
        return {
            "step": self.step,
            "offset": self.offset,
            "emitter": self.emitter.as_json(),
            "directory": self.directory.as_json(_encoded),
            "degrees": [self.degrees.panes, self.degrees.windows],
            "held": [[worker, pane, *_encoded(e)] for worker, own in self.held.items() for pane, e in own.items()],
        }

    @classmethod
    def from_json(cls, document: dict[str, Any], working: Working) -> QueryState:
        """What ``as_json`` wrote; how the work is spread may have changed since."""
        table = document["emitter"]["panes"]["table"]
        table["active"] += [False] * (working.most - len(table["active"]))
        table["splitting"] = working.splitting.name
        emitter = Emitter.from_json(document["emitter"])
        emitter.panes.threshold = _resumed(emitter.panes.threshold, working)
        directory = WindowRounds.from_json(document["directory"], lambda entry: Extent(*entry))
        directory.merging = working.merging
        held: dict[int, dict[int, Extent]] = {}
        for worker, pane, *extent in document["held"]:
            held.setdefault(worker, {})[pane] = Extent(*extent)
        degrees = Degrees(*document["degrees"]) if working.elastic else working.start
        if degrees.total > working.most:
            degrees = working.start
        return cls(emitter, directory, degrees, document["step"], document["offset"], held)


def _threshold(working: Working) -> Threshold:
    """A fresh threshold, with the PID if that decides where panes are split."""
    return Threshold(micro_batch_pid(working.set_point) if working.splitting is Splitting.ADAPTIVE else None)


def _resumed(saved: Threshold, working: Working) -> Threshold:
    """The threshold with what was learned, under the present set-point; a fresh one if panes were split another way."""
    fresh = _threshold(working)
    return fresh if (saved.pid is None) != (fresh.pid is None) else replace(saved, pid=fresh.pid)


def _encoded(extent: Extent) -> list[Any]:
    return [extent.file, extent.skip, extent.count]


class QueryFolder:
    """All files of a query. Every process that runs its tasks has to see it under this path."""

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()
        self._results = StreamLog(self.results)

    @property
    def tuples(self) -> Path:
        """The log that Spark writes and the stages read."""
        return self.path / "tuples"

    @property
    def results(self) -> Path:
        """The log of complete windows, in their order."""
        return self.path / "results"

    @property
    def partials(self) -> Path:
        """Results of panes and of windows that are not complete."""
        return self.path / "partials"

    @property
    def checkpoint(self) -> Path:
        """The checkpoint of the query that writes the tuples."""
        return self.path / "checkpoint"

    def opened(self, asked: Asked, columns: Sequence[str]) -> QueryFolder:
        """Open the folder for this query; refuses that of another one."""
        wanted, file = {**asked.as_json(), "tuple": list(columns)}, self.path / "query.json"
        self.path.mkdir(parents=True, exist_ok=True)
        if not file.exists():
            _replace(file, json.dumps(wanted))
        found = json.loads(file.read_text())
        for key, value in wanted.items():
            if found.get(key) != value:
                raise PreferenceError(
                    f"{self.path} holds another query: {key} is {found.get(key)}, not {value}; name another folder"
                )
        return self

    def load(self, asked: Asked, working: Working) -> QueryState:
        """The state after the last micro-batch that counts; what a crash has left of a later one is removed."""
        step = self._results.repair()
        self._results.register(KEEPER)  # whoever reads results takes none away
        if step < 0:
            state = QueryState.fresh(asked, working)
        else:
            state = QueryState.from_json(json.loads(self._state(step).read_text()), working)
        self._remove_others(state)
        return state

    def commit(self, state: QueryState, windows: Iterable[tuple[int, Written]]) -> None:
        """Make the micro-batch count, and then remove what nobody needs any more."""
        _replace(self._state(state.step), json.dumps(state.as_json()))
        noted = [(written, {"window": window, "rows": written.rows}) for window, written in windows]
        self._results.commit(state.step, noted)
        self._remove_others(state)

    def _state(self, step: int) -> Path:
        return self.path / "state" / f"{step}.json"

    def _remove_others(self, state: QueryState) -> None:
        needed = {extent.file for extent in state.extents}
        for file in (self.partials / DATA).glob("*.arrow"):
            if file.name not in needed:
                file.unlink(missing_ok=True)
        for file in (self.path / "state").glob("*.json"):
            if file != self._state(state.step):
                file.unlink(missing_ok=True)


def _replace(file: Path, text: str) -> None:
    """Whoever reads it sees the old or the new one, and after a crash of this process one of them is there."""
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_name(f".{file.name}.{os.getpid()}")
    new.write_text(text)
    new.rename(file)
