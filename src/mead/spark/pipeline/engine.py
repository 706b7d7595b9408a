"""Spark as an engine of the control loop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from time import process_time, time_ns

from mead.cpu import CpuUsage
from mead.monitor import Arrivals, TreeMonitor, monitors
from mead.queueing import PATH_SEPARATOR
from mead.session.result import EngineCpu
from mead.spark.cluster.executors import Executors
from mead.spark.pipeline.running import RunningPipeline
from mead.spark.runtime.java_machine import java_cpu_s, java_pid
from mead.spark.telemetry.batch_times import add_stamps, batch_responses, find_stamp_fault
from mead.spark.telemetry.probe import Stamps
from mead.spark.telemetry.reports import BatchReport, FinishedBatch, ReportQueue
from mead.values import Allocation, Observation, OperatorReading

SILENT_S = 30.0
"""How long an operator with tuples waiting may complete none before it is reported, beyond its trigger and the duration
of its last micro-batch."""

NO_USAGE = CpuUsage(0.0, 0, 0, 0.0)


@dataclass
class OperatorState:
    """State of one operator."""

    last: FinishedBatch | None = None
    before: int = 0
    """Arrivals before this run: in the warm-up, in an earlier run that this one continues, or in an old stream."""
    arrived: int = 0
    completed: int = 0
    rows_in: int = 0
    """Rows that its micro-batches have read since the run began, and ``rows_out`` written."""
    rows_out: int = 0
    usage: CpuUsage = NO_USAGE
    took_s: float = 0.0
    """Duration of its last micro-batch."""
    heard_s: float = 0.0
    """When it last completed something, or had nothing to complete; time of the run."""
    new: list[tuple[BatchReport, int]] = field(default_factory=list)
    """Micro-batches since the last observation, with their numbers of tuples."""

    def begins_at(self, before: int) -> None:
        """Set the tuples that the stream had when it was first read: an old stream does not begin at 0."""
        self.before += max(before - self.arrived, 0)
        self.arrived = max(before, self.arrived)


@dataclass(frozen=True)
class Counters:
    """Readings that the reports of queries do not contain."""

    arrived: int | None
    usage: CpuUsage | None
    outside: bool
    """Whether none of its workers is in its control group, for example because their daemon could not join."""


class SparkEngine:
    """The control loop's view of a running pipeline."""

    def __init__(self, running: RunningPipeline, kept_iats: int) -> None:
        self.running, self.pipeline = running, running.pipeline
        self.progress = ReportQueue(running.spark)
        self.executors = Executors(running.spark)
        self.arrivals = Arrivals(kept_iats)
        self.states = {operator.name: OperatorState() for operator in self.pipeline.operators}
        self.paths = monitors(self.pipeline.paths, self.pipeline.requirements)
        self.trees = TreeMonitor(self.pipeline) if running.follows else None
        self.allocation = running.first_allocation
        self._tasks: int | None = None
        """Tasks ordered for all operators together; None before the first order."""
        self.observed_s = 0.0
        self._began_us = time_ns() // 1000
        self._started = {name: self._usage(name) for name in self.states}
        for name, state in self.states.items():
            state.usage = self._started[name]
            if (last := running.queries[name].last) is not None:
                state.last, state.completed = last, running.inputs[name].count_completed(last)
                state.begins_at(state.completed)
        first = self.pipeline.sources[0]
        self.tap = running.inputs[first].tap()
        if self.tap is not None and self.tap.first is not None and self.states[first].last is None:
            self.states[first].begins_at(self.tap.first)
        self._java = java_pid(running.spark.sparkContext)
        self._cpu_start = self._cpu_now()

    def apply(self, allocation: Allocation) -> None:
        """Apply an allocation: shares at once, numbers of tasks from each operator's next micro-batch on.

        On a cluster, executors are added with the tasks, and released when they have not been needed for a while.
        """
        for name, resources in allocation.items():
            self.running.shares.set_share(name, resources.cores)
            self.running.order_tasks(name, resources.replicas)  # the last order may have failed half-way
        self.allocation, self._tasks = allocation, sum(resources.replicas for resources in allocation.values())
        self.executors.follow(self._tasks)

    def observe(self, time_s: float) -> Observation:
        """Return readings since the last successful call.

        Everything that can fail comes first, so that a failed call resets no counter.
        """
        if self._tasks is not None:
            self.executors.follow(self._tasks)  # releases executors that are no longer needed
        fault = self._read(time_s)
        self._read_tap()
        self.arrivals.at(time_ns() // 1000)
        counters = {name: self._counters(name, state) for name, state in self.states.items()}
        readings = {name: self._reading(name, state, counters[name]) for name, state in self.states.items()}
        interval_s, self.observed_s = time_s - self.observed_s, time_s
        return Observation(
            time_s=time_s,
            interval_s=interval_s,
            allocation=self.allocation,
            operators=readings,
            paths={path: monitor.reading() for path, monitor in self.paths.items()},
            iats_s=self.arrivals.iats_s,
            counts=self.arrivals.counts,
            inputs=None if self.trees is None else self.trees.reading(),
            missing=fault or self._find_unlimited(readings, counters) or self._find_silent(time_s),
        )

    @property
    def cpu(self) -> EngineCpu:
        """CPU seconds since the start outside the operators' workers."""
        now, start = self._cpu_now(), self._cpu_start
        java_s = None if now.java_s is None or start.java_s is None else now.java_s - start.java_s
        return EngineCpu(java_s, now.driver_s - start.driver_s)

    def used(self, operator: str) -> CpuUsage:
        """Return the CPU usage of an operator's workers since the start; 0 where nothing is measured."""
        return self._usage(operator).since(self._started[operator])

    def close(self) -> None:
        """Stop listening to the queries and to the source."""
        self.progress.close()
        if self.tap is not None:
            self.tap.close()

    def _read(self, time_s: float) -> str:
        """Read the reports of the queries; return a fault of those that cannot be used."""
        fault = ""
        for progress in self.progress.fetch():
            if progress.query not in self.states:
                continue  # not an operator's query
            try:
                fault = self._add_report(progress, self.states[progress.query], time_s) or fault
            except Exception as error:  # noqa: BLE001 - the other reports must not be lost
                fault = f"a report of {progress.query} cannot be used ({type(error).__name__}: {error})"
        return fault

    def _add_report(self, progress: BatchReport, state: OperatorState, time_s: float) -> str:
        """Add the report of one micro-batch; return what is implausible about it."""
        if state.last is not None and progress.batch <= state.last.batch:
            return ""  # known already
        try:
            state.completed = self.running.inputs[progress.query].count_completed(progress.done)
        except (KeyError, TypeError, ValueError):
            return f"{progress.query} reports offsets that cannot be read"
        rows = self.running.rows(progress)
        stamps, followed = rows.stamps, rows.followed
        if self.trees is not None:
            self.trees.add(progress.query, progress.done_us, followed.read_us, followed.written_us)
        if state.last is None:
            state.begins_at(state.completed - stamps.rows)
        state.last, state.heard_s, state.took_s = progress.done, time_s, progress.took_s
        state.rows_in, state.rows_out = state.rows_in + stamps.rows, state.rows_out + rows.written
        state.new.append((progress, stamps.rows))
        if (fault := find_stamp_fault(progress, stamps, self.pipeline.requirements)) or not stamps.stamped:
            return fault
        self._arrivals(progress, stamps)
        self._responses(progress, stamps)
        return ""

    def _read_tap(self) -> None:
        """Add the arrivals that the tap has seen, whether or not the first operator has read them."""
        if self.tap is None:
            return
        came = self.tap.read()
        for stamps in came.arrivals:
            add_stamps(self.arrivals, stamps)
        self.arrivals.known_until(came.known_us)

    def _arrivals(self, progress: BatchReport, stamps: Stamps) -> None:
        if self.tap is not None or not self.running.wiring.is_first(progress.query):
            return
        add_stamps(self.arrivals, stamps)
        self.arrivals.known_until(progress.started_us)

    def _responses(self, progress: BatchReport, stamps: Stamps) -> None:
        """Add response times: a tuple is done on a path when the path's last operator is."""
        done = batch_responses(progress, stamps, self._began_us)
        for path, monitor in self.paths.items():
            if path.rpartition(PATH_SEPARATOR)[2] == progress.query:
                monitor.add(done)

    def _counters(self, name: str, state: OperatorState) -> Counters:
        shares = self.running.shares
        outside = bool(shares.group(name)) and not shares.processes(name)
        return Counters(self.running.inputs[name].count_arrived(state.last), shares.usage(name), outside)

    def _reading(self, name: str, state: OperatorState, now: Counters) -> OperatorReading:
        """Return the reading of one operator. Counts of tuples never shrink, whatever a source reports."""
        arrived = max(state.completed if now.arrived is None else now.arrived, state.completed, state.arrived)
        completed = sum(rows for _, rows in state.new)
        batches = [progress.took_s for progress, rows in state.new if rows]
        # Without measurements, serving time stands for CPU time. An estimator separates overhead and demand.
        new = None if now.usage is None or now.outside else now.usage.since(state.usage)
        reading = OperatorReading(
            arrived - state.arrived,
            completed,
            arrived - state.completed,
            sum(batches) if new is None else new.cpu_s,
            len(batches),
            sum(batches),
            0.0 if new is None else new.throttled_s,
        )
        state.arrived, state.usage, state.new = arrived, now.usage or state.usage, []
        if self.tap is None and self.running.wiring.is_first(name) and reading.backlog == 0:
            self.arrivals.known_until(time_ns() // 1000)  # an idle source reports no micro-batches
        return reading

    def _usage(self, operator: str) -> CpuUsage:
        return self.running.shares.usage(operator) or NO_USAGE

    def _find_unlimited(self, readings: Mapping[str, OperatorReading], counters: Mapping[str, Counters]) -> str:
        """Report an operator that works with no worker in its control group, as is normal on a cluster."""
        for name, reading in readings.items():
            if reading.completed and self.executors.local and counters[name].outside:
                return f"no worker of {name} is in its control group, so its share is not enforced"
        return ""

    def _find_silent(self, time_s: float) -> str:
        for name, state in self.states.items():
            batches, silent_s = self.pipeline.operator(name).batches, time_s - state.heard_s
            trigger_s = (batches.trigger_s if batches else None) or 0.0
            if state.arrived == state.completed:
                state.heard_s = time_s
            elif silent_s > SILENT_S + trigger_s + state.took_s:
                waiting = state.arrived - state.completed
                return f"{name} has completed nothing for {silent_s:.0f} s, with {waiting} tuples waiting"
        return ""

    def _cpu_now(self) -> EngineCpu:
        return EngineCpu(java_cpu_s(self._java), process_time())
