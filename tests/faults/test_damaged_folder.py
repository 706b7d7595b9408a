"""A run whose files were deleted or damaged is refused in one line, before anything is changed: no row is lost."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.faults.test_damaged_log import content, held
from tests.spark import log_pipeline as logs
from tests.spark.pipeline.test_resume import LINES, opened, wait
from tests.waiting import PATIENCE_S

from mead.spark.log import stream_log
from mead.spark.pipeline.operators import OperatorError
from mead.spark.pipeline.query import last_begun, last_committed
from mead.spark.pipeline.run_folder import EARLIER, check_folder, set_aside

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from mead.spark.pipeline.running import RunningPipeline


def run_to_the_end(spark: SparkSession, folder: Path) -> RunningPipeline:
    running = opened(spark, folder, logs.source(folder, [n / 500 for n in range(LINES)]))
    try:
        running.start()
        running.warm_up(PATIENCE_S)
        running.begin()
        wait(running, lambda: logs.stream(folder, "parser").end == logs.parsed(LINES).num_rows)
        assert running.drain(PATIENCE_S)
    finally:
        running.stop()
    return running


@pytest.fixture(scope="module")
def finished(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that has ended."""
    run_to_the_end(spark, folder := tmp_path_factory.mktemp("finished"))
    return folder


@pytest.fixture
def folder(finished: Path, tmp_path: Path) -> Path:
    """A copy of it, to be damaged."""
    return shutil.copytree(finished, tmp_path / "run")


def last_file(checkpoint: Path, kind: str) -> Path:
    return checkpoint / kind / str(last_committed(checkpoint) if kind == "commits" else last_begun(checkpoint))


def empty(path: Path) -> None:
    path.write_bytes(b"")


def cut_last_line(index: Path) -> None:
    index.write_bytes(b"".join(index.read_bytes().splitlines(keepends=True)[:-1]))


def forget_last_batch(checkpoint: Path) -> None:
    """As a copy of the checkpoint from yesterday has it."""
    batch = last_begun(checkpoint)
    for kind in ("commits", "offsets"):
        (checkpoint / kind / str(batch)).unlink(missing_ok=True)


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "all checkpoints are deleted": (
        lambda run: shutil.rmtree(run / "checkpoints"),
        r"checkpoints/parser: deleted or replaced: .*streams/parser ends with batch \d+, but the checkpoint has none",
    ),
    "one checkpoint is deleted": (
        lambda run: shutil.rmtree(run / "checkpoints/matcher"),
        "checkpoints/matcher: deleted or replaced: .*rows would be lost",
    ),
    "a checkpoint is older than its log": (
        lambda run: forget_last_batch(run / "checkpoints/matcher"),
        r"checkpoints/matcher: deleted or replaced: .* but the checkpoint ends with batch \d+",
    ),
    "offsets are empty": (
        lambda run: empty(last_file(run / "checkpoints/parser", "offsets")),
        r"checkpoints/parser/offsets/\d+: empty or damaged",
    ),
    "a commit is empty": (
        lambda run: empty(last_file(run / "checkpoints/matcher", "commits")),
        r"checkpoints/matcher/commits/\d+: empty or damaged",
    ),
    "metadata is empty": (
        lambda run: empty(run / "checkpoints/matcher/metadata"),
        "checkpoints/matcher/metadata: empty or damaged",
    ),
    "metadata is deleted": (
        lambda run: (run / "checkpoints/parser/metadata").unlink(),
        "checkpoints/parser/metadata: missing",
    ),
    "commits are deleted": (
        lambda run: shutil.rmtree(run / "checkpoints/parser/commits"),
        r"checkpoints/parser/commits: it ends with batch -1, but offsets with batch \d+",
    ),
    "all streams are deleted": (
        lambda run: shutil.rmtree(run / "streams"),
        r"streams/parser/index: it ends with batch -1, but .*checkpoints/parser counts batch \d+ as done",
    ),
    "an index is cut": (
        lambda run: cut_last_line(run / "streams/matcher/index"),
        r"streams/matcher/index: it ends with batch \d+, but .*checkpoints/matcher counts batch \d+ as done",
    ),
    "the start is empty": (
        lambda run: empty(run / "streams/parser/start"),
        "streams/parser/start: empty or damaged: it must hold a number",
    ),
    "the number of a consumer is empty": (
        lambda run: empty(run / "streams/parser/consumers/matcher"),
        "streams/parser/consumers/matcher: empty or damaged: it must hold a number",
    ),
    "a stream lacks rows that were read": (
        lambda run: list(map(shutil.rmtree, (run / "streams/parser", run / "checkpoints/parser"))),
        r"streams/parser/index: it ends at row 0, but .*checkpoints/matcher has read up to row \d+",
    ),
    "all files of one operator are deleted": (
        lambda run: list(map(shutil.rmtree, [*run.glob("[!t]*/matcher"), run / "checkpoints/matcher.results"])),
        r"checkpoints/matcher: deleted or new: .*streams/parser begins at row \d+, .* rows before it would be lost",
    ),
    "results and their checkpoint are deleted": (
        lambda run: list(map(shutil.rmtree, (run / "checkpoints/matcher.results", run / "results/matcher"))),
        r"checkpoints/matcher\.results: deleted or new: .*streams/matcher begins at row \d+",
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_run_is_refused_before_anything_is_changed(spark: SparkSession, folder: Path, damage: str) -> None:
    do, message = DAMAGES[damage]
    do(folder)
    before = content(folder)
    with pytest.raises(OperatorError, match=message) as refused:
        check_folder(folder, opened(spark, folder, logs.source(folder, [0.0])).wiring)
    assert str(refused.value).startswith(str(folder))
    assert "--start-over" in str(refused.value)
    assert "\n" not in str(refused.value)
    assert {name: data for name, data in content(folder).items() if "trace" not in name} == {
        name: data for name, data in before.items() if "trace" not in name
    }


def test_results_need_no_checkpoint_for_rows_that_are_in_files(spark: SparkSession, folder: Path) -> None:
    shutil.rmtree(folder / "checkpoints/matcher.results")
    check_folder(folder, opened(spark, folder, logs.source(folder, [0.0])).wiring)


def test_a_stopped_process_of_an_earlier_run_is_named(
    spark: SparkSession, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_log, "LOCK_S", 0.2)
    with (
        held(logs.stream(folder, "matcher")),
        pytest.raises(OperatorError, match="streams/matcher: a process of an earlier run is writing to it"),
    ):
        opened(spark, folder, logs.source(folder, [0.0])).start()


def test_a_run_starts_over_and_the_earlier_one_is_kept(spark: SparkSession, folder: Path) -> None:
    shutil.rmtree(folder / "checkpoints")
    before = content(folder / "streams")
    earlier = set_aside(folder)
    assert earlier is not None
    assert earlier.parent == folder / EARLIER
    assert sorted(path.name for path in earlier.iterdir()) == ["results", "streams"]
    assert list(content(earlier / "streams").values()) == list(before.values())
    run_to_the_end(spark, folder)
    assert logs.matches(folder) == logs.expected_matches(LINES)


def test_a_new_folder_has_nothing_to_set_aside(tmp_path: Path) -> None:
    assert set_aside(tmp_path) is None
    assert list(tmp_path.iterdir()) == []
