"""PA-SPS on Spark: its applications under PA-SPS, static replicas and DABS, in real time.

The streams are those of the tables, at a fraction of their rates, because the machine is small. The hills of smoothed
Twitter are squeezed in time, so that a run of one and a half minutes has all of them, and policies decide as much more
often. PA-SPS and PSPS run with load-aware grouping, the others with equal parts, which are Storm's shuffle.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table

from experiments.comparison import PolicyContender
from experiments.live.comparison import mean_replicas
from experiments.pasps.scenarios import COMPLEX, LOG_LIKE, SMOOTH, SPIKES, Scenario
from mead.config import parse_pipeline
from mead.cpu import Opener, closing_shares
from mead.reports.tables import number, number_or_nothing, plain_table, yes_or_no
from mead.session import LiveResult, Session
from mead.spark.pipeline.build import live_pipeline, load_source, load_work
from mead.spark.pipeline.run import run_pipeline
from mead.spark.pipeline.running import WARM_UP
from mead.spark.sources.trace import SPARE_S
from mead.values import Knowledge
from mead.workload import Trace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXAMPLES = Path(__file__).parents[2] / "examples"
LOAD_AWARE = ("pasps", "psps")
SLOTS = 48
"""Slots of a local Spark: every task has one, and no operator waits for those of another."""

SYSTEMS = (
    "static@replicas=1",
    "static",
    "dabs@interval_s=5@sample_s=1@hold_down_s=20",
    "pasps@interval_s=5@sample_s=1",
)


@dataclass(frozen=True)
class LiveApplication:
    """A pipeline file of the examples, and the stream that it gets."""

    file: str
    scenario: Scenario
    scale: float
    """Part of the rates."""
    squeeze: int = 1
    """Seconds of the stream in one second of the run."""

    def trace(self, seed: int, duration_s: float) -> Trace:
        """Arrivals of a run: all tuples of a second at once, as the authors' source sends them."""
        seconds = slice(0, None, self.squeeze)
        squeezed = replace(self.scenario, rates_per_s=lambda rng: self.scale * self.scenario.rates_per_s(rng)[seconds])
        return squeezed.trace(seed, int(duration_s + SPARE_S))


APPLICATIONS: Mapping[str, LiveApplication] = {
    "tweets": LiveApplication("tweet-classification", SMOOTH, 0.1, 13),
    "dns": LiveApplication("dns-classification", SPIKES, 0.1),
    "logs": LiveApplication("log-classification", LOG_LIKE, 0.05),
    "news": LiveApplication("news-classification", COMPLEX, 0.1, 13),
}


@dataclass(frozen=True)
class LiveSystem:
    """One system on one application."""

    application: str
    system: str
    replicas: float
    """Time average, of all operators together."""
    saved: float
    """Part of the replicas of a system that is never too small."""
    mean_s: float | None
    p95_s: float | None
    """Response times of the slowest path."""
    changes: int
    drained: bool
    """Whether all tuples had gone through a minute after the end."""

    @classmethod
    def of(cls, application: str, system: str, result: LiveResult, r_over: int) -> LiveSystem:
        """Sum a run up."""
        replicas = sum(mean_replicas(result).values())
        paths = [responses for responses in result.responses.values() if responses.total]
        slowest = max(paths, key=lambda responses: responses.mean_s or 0.0, default=None)
        return cls(
            application,
            system,
            replicas,
            1 - replicas / r_over,
            slowest.mean_s if slowest else None,
            slowest.percentile_s(95) if slowest else None,
            result.changes,
            result.drained,
        )

    def as_json(self) -> dict[str, Any]:
        """The row of the document."""
        return asdict(self)


@dataclass(frozen=True)
class LiveRuns:
    """The settings that all runs share."""

    spark: SparkSession
    manager: Opener
    duration_s: float
    folder: Path
    actuation_delay_s: float
    seed: int

    def run(self, name: str, system: str) -> LiveSystem:
        """Run a system on an application. Raises KeyboardInterrupt if the user ends it."""
        application, policy = APPLICATIONS[name], PolicyContender.of(system)
        text = (EXAMPLES / f"{application.file}.yaml").read_text(encoding="utf-8")
        if policy.options.name not in LOAD_AWARE:
            text = text.replace("least_utilised", "round_robin")
        file = parse_pipeline(text.encode())
        pipeline, folder = live_pipeline(file.pipeline), self.folder / f"{name}-{policy.label}"
        folder.mkdir(parents=True)
        work = load_work(file, EXAMPLES)  # before the source, whose payload comes from the same modules
        trace = application.trace(self.seed, self.duration_s)
        source = load_source(file, EXAMPLES, folder, self.duration_s, folder / WARM_UP, instead=trace)
        session = Session(pipeline, policy.options, engine="spark", name=f"{pipeline.name}, {policy.label}")
        with closing_shares(self.manager([operator.name for operator in pipeline.operators])) as shares, session:
            result = run_pipeline(
                session,
                self.spark,
                Knowledge(pipeline, self.actuation_delay_s),
                source,
                work,
                folder,
                shares,
                duration_s=self.duration_s,
            )
        if result.interrupted:
            raise KeyboardInterrupt
        return LiveSystem.of(name, system, result, sum(operator.max_replicas for operator in pipeline.operators))


def live_systems_table(rows: Iterable[LiveSystem], duration_s: float) -> Table:
    """The runs as a table."""
    columns = ("application", "system", "replicas", "saved", "mean s", "p95 s", "changes", "all went through")
    table = plain_table(f"PA-SPS on Spark, {duration_s:g} s a run", *columns)
    for row in rows:
        table.add_row(
            row.application,
            row.system,
            number(row.replicas),
            number(row.saved),
            number_or_nothing(row.mean_s),
            number_or_nothing(row.p95_s),
            str(row.changes),
            yes_or_no(met=row.drained),
        )
    return table
