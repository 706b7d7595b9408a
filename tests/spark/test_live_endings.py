"""However a run ends, its result is there, and nothing else of it. The end of Java is in tests/cli/test_live.py."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from tests.spark import log_pipeline as logs

from mead.applications.log_analysis.parser import OUTPUT_SCHEMA, parse
from mead.config.policies import StaticOptions
from mead.execute.detect import detect
from mead.execute.lent import lent
from mead.knowledge.knowledge import Knowledge
from mead.knowledge.pipeline import Batches, Operator, Pipeline
from mead.knowledge.requirement import Requirement
from mead.live import LiveResult, run_live
from mead.plan.registry import policy
from mead.spark.checkpoint import last_done
from mead.spark.operators import OnBatches
from mead.spark.workers import started_for

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.skipif(detect().kind == "none", reason=f"CPU shares cannot be set here: {detect()}")

ONE = Pipeline(
    "one", [Operator("parser", 0.0001, batches=Batches(0.1, trigger_s=0.2))], (), [Requirement("parser", 5.0)]
)
RATE_PER_S = 100
PATIENCE_S, LONG_S = 60.0, 600.0


@dataclass
class Ending:
    """A run, and what is done to it: by whom a round is shown to, or who is told what it waits for."""

    spark: SparkSession
    folder: Path
    group: str = ""
    waits: list[str] = field(default_factory=list)

    def run(
        self,
        *,
        duration_s: float = LONG_S,
        on_round: Callable[[], None] = lambda: None,
        on_wait: Callable[[str], None] = lambda _: None,
        pause_s: float = 0.0,
    ) -> LiveResult:
        """With an operator that takes so long for every batch once arrivals take their course."""
        begun = self.folder / "begun"

        def work(batch: pa.RecordBatch) -> pa.RecordBatch:
            if batch.num_rows and begun.exists():
                time.sleep(pause_s)
            return parse(batch)

        def seen(*_: object) -> None:
            begun.touch()
            on_round()

        def waits(what: str) -> None:
            self.waits.append(what)
            on_wait(what)

        source = logs.source(self.folder, [n / RATE_PER_S for n in range(round(LONG_S * RATE_PER_S))])
        with lent(detect().open(["parser"])) as shares:
            self.group = shares.group("parser")
            return run_live(
                self.spark,
                Knowledge(ONE),
                source,
                {"parser": OnBatches(work, OUTPUT_SCHEMA)},
                self.folder,
                shares,
                policy(StaticOptions()),
                duration_s=duration_s,
                kept_iats=100,
                on_round=seen,
                on_wait=waits,
            )

    def assert_nothing_is_left(self) -> None:
        """Processes take a moment to end."""
        assert self.group
        assert not any(Path(folder).parent.exists() for folder in self.group.split(os.pathsep))
        assert "parser" not in [query.name for query in self.spark.streams.active]
        until_s = time.monotonic() + PATIENCE_S
        while (left := list(started_for(self.group))) and time.monotonic() < until_s:
            time.sleep(0.05)
        assert left == []


@pytest.fixture
def ending(spark: SparkSession, tmp_path: Path) -> Ending:
    return Ending(spark, tmp_path)


def ask(which: signal.Signals) -> None:
    os.kill(os.getpid(), which)


def test_sigterm_ends_a_run_when_what_has_arrived_went_through(ending: Ending) -> None:
    before = signal.getsignal(signal.SIGTERM)
    result = ending.run(on_round=lambda: ask(signal.SIGTERM))
    assert (result.interrupted, result.drained, result.loss) == (True, True, "")
    assert result.total_rounds >= 1
    assert result.responses["parser"].total > 0
    assert result.duration_s < LONG_S
    done = last_done(ending.folder / "checkpoints" / "parser")
    assert done is not None
    expected = logs.parsed(done.end_offset["count"])["id"].to_pylist()
    assert sorted(logs.results(ending.folder, "parser")["id"].to_pylist()) == expected, "all of it, once"
    assert "interrupted: ending in good order" in ending.waits
    assert signal.getsignal(signal.SIGTERM) == before
    ending.assert_nothing_is_left()


def test_ctrl_c_while_what_has_arrived_goes_through_loses_no_result(ending: Ending) -> None:
    def impatient(what: str) -> None:
        if what.startswith("letting"):
            ask(signal.SIGINT)

    result = ending.run(duration_s=3.0, on_wait=impatient, pause_s=2.0)
    assert (result.interrupted, result.drained, result.loss) == (True, False, "")
    assert result.duration_s == 3.0, "its time was over"
    assert result.tuples > RATE_PER_S
    assert result.total_rounds >= 1
    ending.assert_nothing_is_left()


def test_whoever_asks_for_an_end_before_the_beginning_gets_it(ending: Ending) -> None:
    def early(what: str) -> None:
        if "warms up" in what:
            ask(signal.SIGTERM)

    with pytest.raises(KeyboardInterrupt):
        ending.run(on_wait=early)
    assert ending.waits[-1].startswith("parser warms up")
    ending.assert_nothing_is_left()
