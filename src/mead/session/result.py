"""The result of a live run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from mead.cpu import CpuUsage
from mead.loop import Mode
from mead.monitor import ResponseSketch
from mead.values import Allocation, Pipeline, Round


@dataclass(frozen=True)
class EngineCpu:
    """CPU seconds outside the operators' workers, since the start."""

    java_s: float | None
    """Spark itself: planning, tasks, sources and sinks. None if unknown."""
    driver_s: float
    """The Python process of the driver: controller, monitor and display, up to the end of the last round."""


@dataclass(frozen=True, eq=False)
class LiveResult:
    """A run on Spark after its warm-up.

    ``responses`` and ``tuples`` cover every tuple that had arrived by the end. The last micro-batch of the source may
    hold a few that came just after it.
    """

    pipeline: Pipeline
    policy: str
    mode: Mode
    duration_s: float
    rounds: Sequence[Round] = field(repr=False)
    """The latest rounds that fit into memory; the history has all of them."""
    total_rounds: int
    failed_rounds: int
    changes: int
    """Number of times another allocation came into force."""
    timeline: Sequence[tuple[float, Allocation]] = field(repr=False)
    """Each allocation with the time at which it came into force, oldest first."""
    cores: Mapping[str, float]
    """By operator, the time average of its cores."""
    cost: float
    """Time average of the cost of all operators; with all prices 1, their cores."""
    responses: Mapping[str, ResponseSketch] = field(repr=False)
    """All response times of each path."""
    parts: Mapping[str, Mapping[int, ResponseSketch]] = field(repr=False)
    """Response times by path and by part of the run, as in ``PathMonitor.parts``."""
    start: Allocation
    cpu: EngineCpu
    loop_s: float
    """CPU seconds of all phases of the control loop alone, a part of ``cpu.driver_s``."""
    used: Mapping[str, CpuUsage]
    """By operator, the CPU time and throttled time of its workers."""
    demands_s: Mapping[str, float]
    """By operator, the demand learned by the end of the run; ``overheads_s`` is the same for the overhead."""
    overheads_s: Mapping[str, float]
    rows_in: Mapping[str, int]
    """By operator, rows that its micro-batches have read."""
    rows_out: Mapping[str, int]
    """By operator, rows that its micro-batches have written."""
    first: int
    """Tuples before this run: of the warm-up, of a run that this one continues, or of an old stream."""
    tuples: int
    """Tuples that arrived at the source in this run."""
    restarts: Sequence[str]
    drained: bool
    """Whether all tuples that had arrived by the end went through, as far as the source knows its backlog."""
    counts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """By operator that counts a column of its rows, the rows of each value since the beginning of its stream."""
    complaints: Mapping[str, int] = field(default_factory=dict)
    """Messages of workers with their counts."""
    interrupted: bool = False
    """Whether a signal asked for the end of the run."""
    loss: str = ""
    """The cause, if Spark was lost; otherwise empty."""
    failure: str = ""
    """Why the run did not work: Spark was lost, or an operator failed or completed nothing to the end; else empty."""
    number: int | None = None
    """Number of the run in its history; None without one."""

    @property
    def mean_cores(self) -> float:
        """Mean cores per operator: the MEAD paper's CPU percentage, divided by 100."""
        return sum(self.cores.values()) / len(self.cores)
