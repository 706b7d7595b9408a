"""An application with joins and a loop that is killed in the middle goes on in its folder: every row once, still."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from time import monotonic, sleep

from tests.spark import log_pipeline as logs
from tests.spark import looped_operators as ops

NUMBERS, PATIENCE_S = 60, 300.0

APPLICATION = """
import sys, time
from pathlib import Path

import looped_operators as ops
import numpy as np
from mead.execute.dry_run import DryRunShares
from mead.knowledge.pipeline import Batches, Operator, Pipeline
from mead.models.network.graph import Edge
from mead.spark import running as running_module
from mead.spark.inputs import TraceInput
from mead.spark.operators import OnBatches, OnStream
from mead.spark.quiet_start import quiet_start
from mead.spark.running import RunningPipeline
from mead.spark.session import started

running_module.LANDING_S = 1
folder, numbers = Path(sys.argv[1]), int(sys.argv[2])
work = {
    "start": OnBatches(ops.start, ops.START),
    "even": OnBatches(ops.halve, ops.NUMBERS),
    "odd": OnBatches(ops.negate, ops.NEGATED),
    "loop": OnStream(ops.down_stream, ops.ROUTED),
}
edges = [("start", "even"), ("start", "odd"), ("even", "loop"), ("odd", "loop"), ("loop", "loop", 0.9)]
operators = [Operator(name, 0.001, max_replicas=2, batches=Batches(0.1)) for name in work]
with quiet_start():
    spark = started("killed", master="local[2,4]")
np.save(folder / "trace.npy", 50_000 * np.arange(numbers, dtype=np.int64))
pipeline, source = Pipeline("joined", operators, [Edge(*edge) for edge in edges]), TraceInput(folder / "trace.npy")
running = RunningPipeline(spark, pipeline, source, work, folder, DryRunShares(list(work)))
running.start()
while (last := running.queries["start"].last) is None or source.completed(last) < numbers:
    running.revive()
    time.sleep(0.05)
print("drained" if running.drain(120.0) else f"not drained, {running.restarts}", flush=True)
running.stop()
spark.stop()
"""


def application(folder: Path) -> subprocess.Popen[str]:
    """In a group of processes of its own."""
    here = str(Path(__file__).parent)
    environment = os.environ | {"PYTHONPATH": here}
    command = [sys.executable, "-c", APPLICATION, str(folder), str(NUMBERS)]
    return subprocess.Popen(command, start_new_session=True, stdout=subprocess.PIPE, text=True, env=environment)


def test_every_row_goes_round_once_though_the_application_was_killed(tmp_path: Path) -> None:
    first = application(tmp_path)
    try:
        until_s = monotonic() + PATIENCE_S
        while logs.stream(tmp_path, "loop").end < 40:
            assert first.poll() is None, "it ended by itself"
            assert monotonic() < until_s, "nothing comes of it"
            sleep(0.01)
    finally:
        os.killpg(first.pid, signal.SIGKILL)
        first.communicate()
    visits = sum(rounds + 1 for _, _, rounds in ops.expected(NUMBERS))
    assert logs.stream(tmp_path, "loop").end < visits, "it was killed in the middle"
    second = application(tmp_path)
    try:
        output, _ = second.communicate(timeout=PATIENCE_S)
    finally:
        if second.poll() is None:
            os.killpg(second.pid, signal.SIGKILL)
            second.communicate()
    assert output.strip() == "drained"
    assert logs.stream(tmp_path, "loop").end == visits
    results = logs.results(tmp_path, "loop")
    found = zip(*(results[name].to_pylist() for name in ("id", "value", "rounds")), strict=True)
    assert sorted(found) == ops.expected(NUMBERS)
