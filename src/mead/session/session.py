"""A session: engine, policy, clock, record and history put together, started, watched and ended."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from datetime import UTC, datetime
from math import inf
from pathlib import Path
from queue import Empty, SimpleQueue
from time import process_time, thread_time
from typing import Self

from mead.arrays import FloatArray, frozen
from mead.clock import Clock, RunClock, VirtualClock
from mead.history import History, Recorder
from mead.loop import ControlLoop, Engine, Mode
from mead.monitor import PathMonitor
from mead.policies import KEPT_IATS, Policy, PolicyOptions, make_policy
from mead.session.controller import Controller
from mead.session.facts import RunFacts
from mead.session.record import RunRecord
from mead.values import Allocation, Knowledge, Pipeline, Round

SIMULATOR = "simulator"
"""The name of the engine in virtual time, in histories."""

SHARED_COMMIT = 100
"""Rounds in virtual time follow each other without a pause, so that this many share a commit to the history."""


class Observer:
    """Follows a session: a terminal, a page, a progress bar, a list of rounds.

    All methods do nothing; a subclass overrides the ones it needs.
    """

    def following(self, session: Session) -> AbstractContextManager[object]:  # noqa: ARG002 - for subclasses
        """The time of the session, from before its engine starts until it has ended."""
        return nullcontext()

    def round(self, this: Round) -> None:
        """Take a round that is over.

        By the wall clock, the thread that watches the session calls this, not the controller's.
        """

    def wait(self, doing: str) -> None:
        """The session waits, for example while queries warm up."""

    def warn(self, what: str) -> None:
        """Something failed, and the session goes on."""


class Session:
    """One run of a pipeline under a policy, recorded in a history and followed by observers.

    Create it before its engine, so that mistakes in options and files show before anything starts. Then hand in the
    engine: `simulate` runs it in virtual time, `begin`, `watch` and `end` run it by the wall clock.

    >>> from mead.policies.baselines.static import StaticOptions
    >>> from mead.values import Operator
    >>> with Session(Pipeline("one", [Operator("matcher", 0.0015)]), StaticOptions()) as session:
    ...     session.facts.policy, session.facts.interval_s, session.kept_iats
    ('static', 1.0, 50000)
    """

    def __init__(
        self,
        pipeline: Pipeline,
        policy: PolicyOptions | Policy,
        *,
        mode: Mode = Mode.ACT,
        engine: str = SIMULATOR,
        workload: str = "",
        name: str | None = None,
        history: Path | None = None,
        observers: Iterable[Observer] = (),
    ) -> None:
        self.options = policy if isinstance(policy, PolicyOptions) else None
        """The options of the policy; None for a policy that was passed as an object."""
        if self.options is not None:
            self.options.check(pipeline)
        self.policy = make_policy(policy) if isinstance(policy, PolicyOptions) else policy
        self.mode, self.name, self.observers = mode, name or pipeline.name, [*observers]
        started = datetime.now(UTC).isoformat(timespec="seconds")
        self.facts = RunFacts(pipeline, self.policy.name, mode.value, engine, workload, started, self.policy.interval_s)
        self.kept_iats = KEPT_IATS if self.options is None else self.options.kept_iats
        """How many of the last IATs the engine has to keep."""
        self.responses: Mapping[str, PathMonitor] = {}
        """By path, the engine's response times, if it knows single ones."""
        self.iats_s: FloatArray = frozen([])
        """The last IATs, oldest first."""
        self._path = history
        self._history: History | None = None
        self._recorder: Recorder | None = None
        self._waiting: SimpleQueue[Round] = SimpleQueue()

    def __enter__(self) -> Self:
        """Open the history, if there is one. Raises HistoryError. The run is added when it begins."""
        if self._path is not None:
            self._history = History.open(self._path)
        return self

    def __exit__(self, failure: type[BaseException] | None, *_: object) -> None:
        """Close the history; the run counts as finished unless it failed."""
        if self._history is not None:
            self._history.__exit__(failure)

    def simulate(
        self, engine: Engine, knowledge: Knowledge, duration_s: float, start: Allocation | None = None
    ) -> None:
        """Run the control loop in virtual time, in this thread."""
        self._connect(engine, knowledge, VirtualClock(), start, self._hand_out, process_time)
        self.loop.run(duration_s)

    def begin(
        self,
        engine: Engine,
        knowledge: Knowledge,
        duration_s: float = inf,
        *,
        start: Allocation | None = None,
        responses: Mapping[str, PathMonitor] | None = None,
    ) -> None:
        """Start the control loop in a thread of its own, by the wall clock."""
        self.responses, self.clock = responses or {}, RunClock()
        self._connect(engine, knowledge, self.clock, start, self._waiting.put, thread_time)
        self._controller = Controller(self.loop, self.clock, self.facts.pipeline.name, duration_s)
        self._controller.start()

    def watch(self, over: Callable[[], bool], note: Callable[[str], None]) -> None:
        """Hand out rounds and keep the controller alive until ``over``, which waits for a moment, returns True."""
        while not over():
            self._take()
            if self._controller.revive():
                note("the controller ended before its time and is started again")

    def end(self, limit_s: float) -> bool:
        """Stop the clock and wait at most ``limit_s`` for the current round; returns whether the controller ended.

        A round that hangs is left alone. It may still observe the engine and give an order, so nothing else may.
        """
        ended = self._controller.end(limit_s)
        self._take()
        return ended

    def conclude(self, figures: Mapping[str, Mapping[str, float | None]]) -> None:
        """Add figures of the whole run to the history, if there is one."""
        if self._recorder is not None:
            self._recorder.conclude(figures)

    def wait(self, doing: str) -> None:
        """Tell the observers what the session waits for."""
        for observer in self.observers:
            observer.wait(doing)

    def warn(self, what: str) -> None:
        """Tell the observers what failed."""
        for observer in self.observers:
            observer.warn(what)

    @property
    def number(self) -> int | None:
        """Number of the run in the history; None without one, or if the run has not begun."""
        return None if self._recorder is None else self._recorder.run

    @property
    def learned(self) -> Pipeline:
        """The pipeline with the demands and overheads of the last round."""
        pipeline = self.facts.pipeline
        return self.record.last[-1].learned(pipeline) if self.record.last else pipeline

    def _connect(
        self,
        engine: Engine,
        knowledge: Knowledge,
        clock: Clock,
        start: Allocation | None,
        record: Callable[[Round], None],
        cpu_s: Callable[[], float],
    ) -> None:
        if self._history is not None:
            facts = self.facts
            self._recorder = self._history.begin(
                self.name,
                facts.pipeline,
                policy=facts.policy,
                started=facts.started,
                options={"name": facts.policy} if self.options is None else self.options.model_dump(),
                engine=facts.engine,
                mode=facts.mode,
                workload=facts.workload,
                interval_s=facts.interval_s,
                batch=SHARED_COMMIT if facts.engine == SIMULATOR else 1,
            )
        self.loop = ControlLoop(
            engine, self.policy, knowledge, clock, mode=self.mode, start=start, record=record, cpu_s=cpu_s
        )
        self.record = RunRecord(self.loop.allocation)

    def _take(self) -> None:
        """Hand out the rounds that the controller has finished."""
        with suppress(Empty):
            while True:
                self._hand_out(self._waiting.get_nowait())

    def _hand_out(self, this: Round) -> None:
        if self._recorder is not None:
            self._recorder(this)
        self.record.add(this)
        if this.observation is not None:
            self.iats_s = this.observation.iats_s
        for observer in self.observers:
            observer.round(this)
