"""State of a query between micro-batches, and the folder that keeps it.

A micro-batch counts once its line is in the index of the results. Before that, its state is written to a new file,
beside the one of the micro-batch before. So results, position in the stream and state change at the same moment, or not
at all.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mead.preference.control.degrees import Degrees
from mead.preference.control.threshold import Threshold
from mead.preference.kernels.dominance import PreferenceError
from mead.preference.spark.control import micro_batch_pid
from mead.preference.spark.emission import Emitter
from mead.preference.spark.pane_stage import NOTHING
from mead.preference.spark.query_spec import ExecutionOptions, QuerySpec
from mead.preference.spark.window_rounds import WindowRounds
from mead.preference.windows.messages import PaneResult
from mead.preference.windows.owner_table import OwnerTable, Splitting
from mead.preference.windows.pane_emitter import ClosedPane, PaneEmitter, Partition
from mead.spark.log.store import NEW_FOLDER, START_OVER, LogError
from mead.spark.log.stream_log import DATA, Extent, StreamLog, WrittenFile
from mead.spark.pipeline.operators import OperatorError
from mead.spark.pipeline.run_folder import check_writer

READER = "preference"
"""Reader of the log that keeps unprocessed tuples."""

KEEPER = "folder"
"""Reader of the log that keeps results for later readers."""


@dataclass
class QueryState:
    """State of a query after a micro-batch."""

    emitter: Emitter
    directory: WindowRounds
    degrees: Degrees
    """Degrees of the next micro-batch."""
    step: int = -1
    """Number of the micro-batch."""
    offset: int = 0
    """The first unprocessed row of the log of tuples."""
    open_results: dict[int, dict[int, Extent]] = field(default_factory=dict)
    """Results of open panes, by worker and pane."""

    @classmethod
    def fresh(cls, spec: QuerySpec, options: ExecutionOptions) -> QueryState:
        """Return the state before the first micro-batch."""
        table = OwnerTable(options.most, options.splitting)
        panes = PaneEmitter(table, _threshold(options))
        panes.add(range(options.start.panes))
        emitter = Emitter(spec.windows, spec.k_slack(), panes, ahead_us=spec.ahead_us)
        return cls(emitter, WindowRounds(spec.windows, merging=options.merging), options.start)

    def copy_panes(self) -> QueryState:
        """Return a copy for the pane stage, which changes everything but the windows."""
        open_results = {worker: dict(panes) for worker, panes in self.open_results.items()}
        return replace(self, emitter=deepcopy(self.emitter), open_results=open_results)

    def take_result(self, part: Partition) -> Extent:
        """Remove and return the result of a partition; an empty one has none."""
        return self.open_results.get(part.worker, {}).pop(part.pane, NOTHING)

    def take_results(self, closed: Iterable[ClosedPane]) -> list[PaneResult[Extent]]:
        """Remove and return the results of complete panes; one without tuples has one empty result."""
        return [
            PaneResult(pane.pane, pane.count, result)
            for pane in closed
            for result in [self.take_result(part) for part in pane.partitions] or [NOTHING]
        ]

    @property
    def extents(self) -> list[Extent]:
        """All results that this state needs."""
        return self.directory.extents + [extent for panes in self.open_results.values() for extent in panes.values()]

    @property
    def files(self) -> set[str]:
        """The files of these results."""
        return {extent.file for extent in self.extents if extent.count}

    def as_json(self) -> dict[str, Any]:
        """Return the state as plain values, for ``from_json``."""
        return {
            "step": self.step,
            "offset": self.offset,
            "emitter": self.emitter.as_json(),
            "directory": self.directory.as_json(_encode),
            "degrees": [self.degrees.panes, self.degrees.windows],
            "held": [
                [worker, pane, *_encode(e)] for worker, panes in self.open_results.items() for pane, e in panes.items()
            ],
        }

    @classmethod
    def from_json(cls, document: dict[str, Any], options: ExecutionOptions) -> QueryState:
        """Restore the state of ``as_json``; the options may have changed since."""
        table = document["emitter"]["panes"]["table"]
        table["active"] += [False] * (options.most - len(table["active"]))
        table["splitting"] = options.splitting.name
        emitter = Emitter.from_json(document["emitter"])
        emitter.panes.threshold = _resume(emitter.panes.threshold, options)
        directory = WindowRounds.from_json(document["directory"], lambda entry: Extent(*entry))
        directory.merging = options.merging
        open_results: dict[int, dict[int, Extent]] = {}
        for worker, pane, *extent in document["held"]:
            open_results.setdefault(worker, {})[pane] = Extent(*extent)
        degrees = Degrees(*document["degrees"]) if options.elastic else options.start
        if degrees.total > options.most:
            degrees = options.start
        return cls(emitter, directory, degrees, document["step"], document["offset"], open_results)


def _threshold(options: ExecutionOptions) -> Threshold:
    """Return a fresh threshold, with a PID if splitting is adaptive."""
    return Threshold(micro_batch_pid(options.set_point) if options.splitting is Splitting.ADAPTIVE else None)


def _resume(saved: Threshold, options: ExecutionOptions) -> Threshold:
    """Return the learned threshold with the present set-point; a fresh one if the kind of splitting changed."""
    fresh = _threshold(options)
    return fresh if (saved.pid is None) != (fresh.pid is None) else replace(saved, pid=fresh.pid)


def _encode(extent: Extent) -> list[Any]:
    return [extent.file, extent.skip, extent.count]


class QueryFolder:
    """All files of a query. Every process that runs its tasks must see it under this path."""

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

    def open(self, spec: QuerySpec, columns: Sequence[str]) -> QueryFolder:
        """Open the folder for this query; refuse that of another one."""
        wanted, file = {**spec.as_json(), "tuple": list(columns)}, self.path / "query.json"
        self.path.mkdir(parents=True, exist_ok=True)
        if not file.exists():
            _replace(file, json.dumps(wanted))
        try:
            found = dict(json.loads(file.read_text()))
        except (ValueError, TypeError):
            raise _damaged(file) from None
        for key, value in wanted.items():
            if found.get(key, value) != value:  # an older version did not write every key
                raise PreferenceError(
                    f"{self.path} has another query: {key} is {found.get(key)}, not {value}; choose another folder"
                )
        return self

    def check(self, spec: QuerySpec, options: ExecutionOptions) -> None:
        """Raise PreferenceError if files of an earlier query are missing, damaged or do not fit together."""
        tuples, results = StreamLog(self.tuples), StreamLog(self.results)
        try:
            check_writer(tuples, self.checkpoint)
            results.check()
            state = self._read_state(results.last, spec, options)
            if not tuples.start <= state.offset <= tuples.end:
                raise PreferenceError(
                    f"{self.path}: the query has processed {state.offset} tuples, but {tuples.folder} has those from "
                    f"{tuples.start} to {tuples.end}; restore it from a copy, or {NEW_FOLDER}"
                )
        except (LogError, OperatorError) as error:
            raise PreferenceError(name_remedy(str(error))) from None

    def load(self, spec: QuerySpec, options: ExecutionOptions) -> QueryState:
        """Load the state after the last committed micro-batch, and remove leftovers of a crash."""
        step = self._results.repair()
        self._results.register(KEEPER)  # other readers do not remove results
        state = self._read_state(step, spec, options)
        self._remove_others(state)
        return state

    def _read_state(self, step: int, spec: QuerySpec, options: ExecutionOptions) -> QueryState:
        if step < 0:
            return QueryState.fresh(spec, options)
        try:
            return QueryState.from_json(json.loads(self._state(step).read_text()), options)
        except (OSError, ValueError, TypeError, LookupError, AttributeError):
            raise _damaged(self._state(step)) from None

    def commit(
        self, state: QueryState, windows: Iterable[tuple[int, WrittenFile]], used: AbstractSet[str] = frozenset()
    ) -> None:
        """Commit the micro-batch, then remove those of the ``used`` partial results that it no longer needs.

        Others may belong to the next micro-batch, which is being computed.
        """
        _replace(self._state(state.step), json.dumps(state.as_json()))
        noted = [(written, {"window": window, "rows": written.rows}) for window, written in windows]
        self._results.commit(state.step, noted)
        for name in used - state.files:
            (self.partials / DATA / name).unlink(missing_ok=True)
        self._remove_states(state.step)

    def _state(self, step: int) -> Path:
        return self.path / "state" / f"{step}.json"

    def _remove_others(self, state: QueryState) -> None:
        """Remove leftovers of a crash."""
        needed = state.files
        for file in (self.partials / DATA).glob("*.arrow"):
            if file.name not in needed:
                file.unlink(missing_ok=True)
        self._remove_states(state.step)

    def _remove_states(self, step: int) -> None:
        for file in (self.path / "state").glob("*.json"):
            if file != self._state(step):
                file.unlink(missing_ok=True)


def name_remedy(message: str) -> str:
    """Return a message of a log with the remedy that preference queries have."""
    return message.replace(START_OVER, NEW_FOLDER)


def _damaged(file: Path) -> PreferenceError:
    return PreferenceError(f"{file}: missing, empty or damaged; restore it from a copy, or {NEW_FOLDER}")


def _replace(file: Path, text: str) -> None:
    """Replace a file atomically: readers see the old or the new content, even after a crash."""
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_name(f".{file.name}.{os.getpid()}")
    new.write_text(text)
    new.rename(file)
