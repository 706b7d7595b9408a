"""A running streaming query of the user's own, under observation, advice or control.

attached = mead.attach(query, requirement="p95 <= 2 s")
print(attached.status())
attached.detach()
"""

from __future__ import annotations

import atexit
import logging
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Literal, Self

from mead.config import choose_policy
from mead.cpu import ShareManager, prepare
from mead.loop import Mode
from mead.policies import PolicyOptions
from mead.session import Session
from mead.spark.attach.description import describe_query, find_context
from mead.spark.attach.engine import AttachedEngine, AttachError
from mead.spark.cluster.capacity import count_cores
from mead.spark.runtime.java_machine import java_pid
from mead.spark.telemetry.probe import stamped
from mead.values import Knowledge, Requirement, Round

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

    from mead.reports.advice.advice import Advice
    from mead.reports.what_if.savings import Savings

__all__ = ["AttachError", "Attached", "attach", "stamped"]

log = logging.getLogger(__name__)

WATCH_S = 0.25
"""Time between two checks that the query is still alive."""

END_S = 30.0
"""Longest wait at the end for a round that is under way."""

SHOWN_S = 60.0
"""How far back the response times in a status reach."""


class Attached:
    """The handle of `attach`.

    It ends by itself when the query ends; as a context manager, at the end of the block.
    """

    def __init__(
        self,
        query: StreamingQuery,
        engine: AttachedEngine,
        knowledge: Knowledge,
        session: Session,
        opened: ExitStack,
        notes: Iterable[str] = (),
    ) -> None:
        self.query, self.engine, self.session = query, engine, session
        self._opened, self._notes = opened, tuple(notes)
        session.begin(engine, knowledge, start=engine.allocation, responses=engine.paths)
        self._watcher = Thread(target=self._watch, name=f"mead-attached-{engine.operator.name}", daemon=True)
        atexit.register(self.detach)  # registered before the thread that unregisters it starts
        self._watcher.start()

    @property
    def mode(self) -> str:
        """The mode in effect: ``advise`` if acting was asked for but is not possible."""
        return self.session.mode.value

    @property
    def decisions(self) -> list[Round]:
        """The latest rounds, oldest first: readings, decision and reason. Single arrivals are not kept."""
        return list(self.session.record.last)

    @property
    def active(self) -> bool:
        """Whether MEAD still watches the query."""
        return self._watcher.is_alive()

    @property
    def notes(self) -> list[str]:
        """Caveats that a reader of the numbers has to know."""
        notes = list(self._notes)
        if not self.engine.exact:
            notes.append("response times are modelled from the times of micro-batches")
        if not self.engine.in_python:
            notes.append("no Python workers: time at work stands for CPU time, and no share can be set")
        return notes

    def status(self) -> str:
        """One line: rate, response times beside the requirement, share, last decision.

        Response times are those of the last minute. The decision comes with its reason.
        """
        name, rounds = self.engine.operator.name, self.decisions
        seen = next((this for this in reversed(rounds) if this.observation is not None), None)
        if seen is None or seen.observation is None:
            return f"{name}: nothing has been seen yet"
        rate_per_s = seen.observation.operators[name].arrived / seen.observation.interval_s
        parts = [f"{rate_per_s:.0f}/s", *self._responses(rounds)]
        if seen.in_force is not None:
            parts.append(f"{seen.in_force[name].cores:g} cores in force")
        last = rounds[-1]
        decided = last.error or (f"{self.mode}: {last.plan.reason}" if last.plan else "")
        notes = f" ({'; '.join(self.notes)})" if self.notes else ""
        state = "" if self.active else ", detached"
        return f"{name}{state}: {', '.join(parts)}{f'; {decided}' if decided else ''}{notes}"

    def savings(self) -> Savings | None:
        """Savings of the policy so far; None in mode act, and before the first usable round.

        In mode advise the savings follow from its plans. In mode observe the policy is run on the latest arrivals in
        virtual time, which may take seconds.
        """
        from mead.reports.what_if.savings import session_savings  # noqa: PLC0415 - loads the simulator

        return session_savings(self.session)

    def advice(self, *, price_per_core_hour: float | None = None, load: float = 1.0) -> Advice:
        """How many cores or executors the query needs, as `mead advise` says from an event log. Print it.

        It rests on the latest micro-batches. ``load`` asks about so many times the rows that came.
        """
        from mead.reports.advice.advice import advise  # noqa: PLC0415 - loads the models

        if self.engine.micro_batches is None:
            raise AttachError("cannot advise: the micro-batches of the query are not kept")
        record = self.engine.micro_batches.record(self.engine.operator.name, in_python=self.engine.in_python)
        (requirement,) = self.engine.pipeline.requirements
        return advise(self.engine.operator.name, [record], requirement, price=price_per_core_hour, load=load)

    def detach(self) -> None:
        """Lift the limit, leave nothing behind, and leave the query running."""
        self.session.clock.stop()
        self._watcher.join(END_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.detach()

    def __repr__(self) -> str:
        return f"<Attached {self.status()}>"

    def _responses(self, rounds: Sequence[Round]) -> list[str]:
        """Response times of the last minute, each beside its requirement."""
        since_s = rounds[-1].time_s - SHOWN_S
        said = []
        for requirement in self.engine.pipeline.requirements:
            seen = [this.observation for this in rounds if this.observation and this.time_s > since_s]
            readings = [observation.paths[requirement.path] for observation in seen]
            rows = sum(reading.completed for reading in readings)
            if rows and requirement.percent is None:
                mean_s = sum(reading.response_sum_s for reading in readings) / rows
                said.append(f"mean {mean_s:.3g} s of {requirement.bound_s:g} s")
            elif rows:
                late = sum(reading.beyond[requirement.bound_s] for reading in readings)
                said.append(f"{1 - late / rows:.1%} within {requirement.bound_s:g} s of {requirement.percent:g}%")
        return said

    def _watch(self) -> None:
        """Keep the controller alive until the query ends or is detached, then put everything back."""
        session = self.session
        try:
            session.watch(self._over, self._note)
        except Exception as error:  # noqa: BLE001 - the query failed, or Spark is gone: Spark tells the owner
            log.info("%s has ended: %s", self.engine.operator.name, str(error).partition("\n")[0])
        finally:
            session.end(END_S)
            self._conclude()
            try:
                self._opened.close()
            except Exception as error:  # noqa: BLE001 - an exception in this thread would be lost
                self._note(f"not everything could be put back as it was: {error}")
            atexit.unregister(self.detach)  # or the handle would be kept as long as the program runs

    def _over(self) -> bool:
        if self.session.clock.stopped:
            return True
        ended = self.query.awaitTermination(WATCH_S)  # type: ignore[arg-type]  # PySpark takes fractions
        return bool(ended)

    def _conclude(self) -> None:
        """In mode observe, add to the history what would have been saved, as `mead run` does."""
        if self.session.number is None or self.session.mode is not Mode.OBSERVE:
            return
        from mead.reports.what_if.savings import savings_figures  # noqa: PLC0415 - as above

        try:
            self.session.conclude(savings_figures(self.savings()))
        except Exception as error:  # noqa: BLE001 - an exception in this thread would be lost
            self._note(f"what would have been saved is not known: {error}")

    def _note(self, what: str) -> None:
        """Add a note to the handle, and log it."""
        self._notes = (*self._notes, what)
        log.warning("%s: %s", self.engine.operator.name, what)


def attach(
    query: StreamingQuery,
    requirement: str | Requirement,
    *,
    mode: Literal["observe", "advise", "act"] | Mode = "advise",
    policy: str | PolicyOptions = "adaptive",
    shares: Sequence[float] | None = None,
    history: str | Path | None = None,
) -> Attached:
    """Observe a running query, advise on the CPU share of its Python workers, or set it.

    ``requirement`` is a text such as ``"mean <= 0.5 s"`` or ``"p95 <= 2 s"``. ``mode`` "observe" and "advise" change
    nothing; "act" needs control groups, and holds all Python workers of the application, whichever query they serve.
    ``policy`` is a name or options of a policy. ``shares`` are the levels that it may choose from, in
    cores for all workers together; without them, five levels up to all cores that the application has. ``history`` is
    a file in which every round is kept, for ``mead history``.
    """
    from mead.spark.attach.live_batches import LiveBatches  # noqa: PLC0415 - its values are those of reports

    context = find_context(query)
    cores = count_cores(context)
    options = choose_policy(None, policy, []) if isinstance(policy, str) else policy
    pipeline, wanted, notes = describe_query(query, cores, requirement, shares), Mode(mode), []
    name = pipeline.name
    if len(active := query._jsq.sparkSession().streams().active()) > 1:  # noqa: SLF001 - Python cannot ask a query this
        notes.append(f"{len(active)} queries of the session share their Python workers, and so CPU time and share")
    machine = prepare(pipeline, act=wanted is Mode.ACT)
    manager: ShareManager | None = machine.detection.open([name]) if machine.acts else None
    if wanted is Mode.ACT and not machine.acts:
        wanted = Mode.ADVISE
        notes.append(f"shares can only be advised: {machine.detection}")
        log.warning("%s: %s", name, notes[-1])
    session = Session(
        pipeline,
        options,
        mode=wanted,
        engine="spark",
        workload="attached",
        history=None if history is None else Path(history),
    )
    with ExitStack() as opened:
        if manager is not None:
            opened.callback(manager.close)
            manager.weigh(cores)  # as many workers may run at the same time
        engine = AttachedEngine(query, context, java_pid(context), pipeline, session.kept_iats, manager)
        opened.pop_all()
        opened.callback(engine.close)
        opened.enter_context(session)
        engine.micro_batches = LiveBatches(query, context, cores, engine.trigger_s)
        return Attached(query, engine, machine.knowledge, session, opened.pop_all(), notes)
