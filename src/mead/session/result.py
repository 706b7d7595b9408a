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
    """CPU seconds since the start, outside the operators' workers."""

    java_s: float | None
    """Spark itself: planning, tasks, sources and sinks. None where the system does not tell."""
    driver_s: float
    """The Python process of the driver: controller and monitor, and whatever else runs there."""


@dataclass(frozen=True, eq=False)
class LiveResult:
    """What happened after the warm-up.

    ``responses`` and ``tuples`` cover every tuple that had arrived when the end came, until it was done. A micro-batch
    of the source takes everything there is, so a few tuples that came just after the end may be among them.
    """

    pipeline: Pipeline
    policy: str
    mode: Mode
    duration_s: float
    rounds: Sequence[Round] = field(repr=False)
    """The latest rounds, as many as are kept in memory; the history has all of them."""
    total_rounds: int
    failed_rounds: int
    changes: int
    """How often another allocation came into force."""
    timeline: Sequence[tuple[float, Allocation]] = field(repr=False)
    """Each allocation with the time at which it came into force, oldest first."""
    cores: Mapping[str, float]
    """The time average of the cores that each operator was given."""
    responses: Mapping[str, ResponseSketch] = field(repr=False)
    """All response times of each path."""
    parts: Mapping[str, Mapping[int, ResponseSketch]] = field(repr=False)
    """Response times by path and by the part of the run in which tuples arrived, as in ``PathMonitor.parts``."""
    start: Allocation
    cpu: EngineCpu
    """CPU seconds of Spark itself, and of the driver's Python process: controller, monitor and display."""
    loop_s: float
    """CPU seconds of all phases of the control loop alone."""
    used: Mapping[str, CpuUsage]
    """What the workers of each operator used, and how long their share held them back."""
    demands_s: Mapping[str, float]
    """The demand of each operator, as learned by the end of the run."""
    overheads_s: Mapping[str, float]
    rows_in: Mapping[str, int]
    """How many rows the micro-batches of each operator have read."""
    rows_out: Mapping[str, int]
    """How many rows they have written. Lines that a parser cannot parse show up as the difference."""
    first: int
    """How many tuples came before this run: in the warm-up, in a run that this one continues, or in an old stream."""
    tuples: int
    """How many tuples arrived at the source in this run."""
    restarts: Sequence[str]
    drained: bool
    """Whether everything that had arrived when the end came went through, as far as the source can tell what waits."""
    complaints: Mapping[str, int] = field(default_factory=dict)
    """The messages of workers, and how often each was seen."""
    interrupted: bool = False
    """Whether somebody asked for the run to end."""
    loss: str = ""
    """Why Spark was gone at the end; empty if it was not."""

    @property
    def mean_cores(self) -> float:
        """Mean cores per operator: the MEAD paper's CPU percentage, divided by 100."""
        return sum(self.cores.values()) / len(self.cores)
