"""However badly a run goes, its exit code and its last line say so, and its result is there."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest
from tests.cli import program
from tests.faults.test_damaged_log import content
from tests.programs import program as command
from tests.waiting import PATIENCE_S

from mead.history import History, HistoryError
from mead.spark.pipeline.build import ARRIVALS
from mead.spark.pipeline.folder_lock import lock_folder
from mead.spark.sources.inputs import TraceInput
from mead.values import Operator, Pipeline

PIPELINE = """
name: lines
shares: [0.5, 1.0]
operators:
  - name: parser
    demand_s: 0.0001
    batch: {{overhead_s: 0.06, trigger_s: 0.1}}
    function: {function}
    output: id bigint, arrival_us bigint
source: {source}
policy: {{name: static}}
"""
GENERATED = "{generate: {kind: poisson, options: {rate_per_s: 100, count: 100000}}}"


OPERATORS = """
from pathlib import Path


def unchanged(batch):
    return batch


def broken(batch):
    if batch.num_rows:
        with Path(__file__).with_name("tried").open("a") as tried:
            tried.write(".")
        raise RuntimeError("the printer is on fire")
    return batch
"""


def pipeline_file(folder: Path, function: str = "shout:unchanged", source: str = GENERATED) -> Path:
    path = folder / "lines.yaml"
    path.write_text(PIPELINE.format(function=function, source=source))
    (folder / "shout.py").write_text(OPERATORS)
    return path


@contextmanager
def started(*words: program.Word) -> Iterator[subprocess.Popen[str]]:
    """The impatient program; it and all that it has started are gone afterwards."""
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        command("tests.faults.impatient", *words), start_new_session=True, stdout=pipe, stderr=pipe, text=True
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def runs(folder: Path) -> list[tuple[int, int]]:
    """Numbers and rounds of the runs in its history."""
    with suppress(HistoryError), History.read(folder / "history.sqlite") as history:
        return [(run.number, run.rounds) for run in history.runs()]
    return []


def wait(process: subprocess.Popen[str], reached: Callable[[], bool]) -> None:
    until_s = time.monotonic() + PATIENCE_S
    while not reached():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until_s
        time.sleep(0.1)


def wait_for_rounds(process: subprocess.Popen[str], folder: Path) -> None:
    wait(process, lambda: any(rounds for _, rounds in runs(folder)))


@pytest.mark.slow
@pytest.mark.spark
def test_a_run_in_which_nothing_worked_ends_with_an_error_and_its_reason(tmp_path: Path) -> None:
    file, folder, tried = pipeline_file(tmp_path, "shout:broken"), tmp_path / "run", tmp_path / "tried"
    tried.touch()
    with started("run", file, "--folder", folder, "--json") as process:
        wait_for_rounds(process, folder)
        wait(process, lambda: tried.stat().st_size > 4)  # the query has failed and was started again
        process.send_signal(signal.SIGINT)
        output, said = process.communicate(timeout=PATIENCE_S)
    reason = "parser failed to the end of the run: RuntimeError: the printer is on fire"
    assert (process.returncode, said) == (1, f"mead run: the run did not work: {reason}\n")
    answer = json.loads(output)
    assert (answer["drained"], answer["failure"]) == (False, reason)
    assert reason in Path(answer["report"]).read_text()


@contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[Path]:
    """A file system of that size."""
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "mead-test", folder], check=False, capture_output=True
    )
    if mounted.returncode:
        pytest.skip(f"no file system can be mounted here: {mounted.stderr.decode().strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def fill(folder: Path) -> None:
    """Take the whole space, and all that becomes free."""
    with suppress(OSError), (folder / "ballast").open("ab", buffering=0) as ballast:
        while ballast.write(bytes(4096)):
            pass


@pytest.mark.slow
@pytest.mark.spark
def test_the_result_is_printed_though_the_disk_is_full_to_the_end(tmp_path: Path) -> None:
    file = pipeline_file(tmp_path)
    with (
        small_disk(tmp_path / "disk", 16) as disk,
        started("run", file, "--folder", disk / "run", "--duration", 20, "--json") as process,
    ):
        wait_for_rounds(process, disk / "run")
        until_s = time.monotonic() + PATIENCE_S
        while process.poll() is None and time.monotonic() < until_s:
            fill(disk)
            time.sleep(0.01)
        output, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1, said
    answer = json.loads(output)
    assert (answer["pipeline"], answer["report"]) == ("lines", None)
    # On a busy machine, everything may have gone through before the disk is full.
    assert answer["drained"] or answer["failure"].startswith("parser")
    assert f"There is no report: {disk}/run/report.html: cannot be written (No space left on device)" in said
    assert f"{disk}/run/history.sqlite" in said
    assert "standard output" not in said
    assert "Traceback" not in said


def refused(file: Path, folder: Path) -> str:
    """The complaint of a run that is refused before Spark starts."""
    return program.complaint("run", file, "--folder", folder, "--json").removeprefix("mead run: ")


def test_a_refused_second_run_leaves_the_history_and_the_arrivals_of_the_first_alone(tmp_path: Path) -> None:
    file, folder = pipeline_file(tmp_path), tmp_path / "run"
    folder.mkdir()
    with History.open(folder / "history.sqlite") as history:
        history.begin("first", Pipeline("one", [Operator("parser", 0.001)]), policy="static", started="2026-01-01")
    with lock_folder(folder):
        said = refused(file, folder)
    assert said == f"{folder}: another run uses this folder; wait for its end, or choose another"
    assert runs(folder) == [(1, 0)]
    assert sorted(path.name for path in folder.iterdir()) == ["history.sqlite", "lock"]


def test_a_source_broker_that_cannot_be_reached_is_refused_before_the_start(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    source = f"{{rabbitmq: {{url: 'amqp://guest:secret@127.0.0.1:{port}/', stream: lines}}}}"
    file = pipeline_file(tmp_path, source=source)
    said = refused(file, tmp_path / "run")
    line = next(n for n, text in enumerate(file.read_text().splitlines(), 1) if text.startswith("source"))
    assert said.startswith(f"{file}:{line}: source.rabbitmq: no connection to amqp://127.0.0.1:{port}/")
    assert said.endswith(": start RabbitMQ there, or correct the url")
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["lock"]


TIMES_US = np.arange(1000) * 10_000
DAMAGE: dict[str, Callable[[Path], object]] = {
    "cut off": lambda path: os.truncate(path, path.stat().st_size - 100),
    "cut off in its header": lambda path: os.truncate(path, 20),
    "emptied": lambda path: os.truncate(path, 0),
    "another file": lambda path: path.write_text("id,arrival_us\n"),
    "out of order": lambda path: np.save(path, TIMES_US[::-1]),
    "not times": lambda path: np.save(path, np.array(["now"])),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_arrivals_are_refused_in_one_line_and_left_alone(tmp_path: Path, damage: str) -> None:
    file, folder = pipeline_file(tmp_path), tmp_path / "run"
    folder.mkdir()
    np.save(folder / ARRIVALS, TIMES_US)
    DAMAGE[damage](folder / ARRIVALS)
    before = (folder / ARRIVALS).read_bytes()
    said = refused(file, folder)
    assert said.startswith(f"{folder / ARRIVALS}: ")
    assert "--start-over" in said
    assert (folder / ARRIVALS).read_bytes() == before
    assert sorted(path.name for path in folder.iterdir()) == [ARRIVALS, "lock"]


def test_arrivals_are_written_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 1) as disk:
        fill(disk)
        os.truncate(disk / "ballast", (disk / "ballast").stat().st_size - 64 * 1024)  # room for a part of them
        with pytest.raises(OSError, match=f"No space left on device: '{disk}/{ARRIVALS}'"):
            TraceInput(disk / ARRIVALS, times_us=np.arange(100_000)).prepare()
        assert [path.name for path in disk.iterdir()] == ["ballast"]


DRS = "requirements: [{path: parser, mean_s: 1.0}]\npolicy: {name: drs, t_min_s: 2.0}"
JOINED = "edges: [[parser, last]]\nstreams: {rabbitmq: {url: 'amqp://127.0.0.1:1/'}}\nsource:"
REFUSALS: dict[str, Callable[[Path, Path, int], tuple[program.Word, ...]]] = {
    "policy.t_min_s: must be below": lambda file, _, __: _add(file, "policy: {name: static}", DRS),
    "Address already in use": lambda _, __, taken: ("--serve", "--port", taken),
    "run/none: cannot be read": lambda _, folder, __: ("--serve", "--port", 0, "--token-file", folder / "none"),
    "history.sqlite: is not a history": lambda _, folder, __: _damage(folder / "history.sqlite"),
    "operator parser: cannot open the stream for its output: no connection": lambda file, _, __: _add(
        file, "source:", JOINED
    ),
}
"""Ways to be refused before Spark starts, and options of the command."""


def _add(file: Path, old: str, new: str) -> tuple[program.Word, ...]:
    last = "  - {name: last, demand_s: 0.0001, function: 'shout:unchanged', output: 'id bigint, arrival_us bigint'}\n"
    text = file.read_text().replace(old, new)
    file.write_text(text.replace("edges:", f"{last}edges:"))
    return ()


def _damage(history: Path) -> tuple[program.Word, ...]:
    history.write_text("not a database" * 100)
    return ()


@pytest.mark.parametrize("reason", REFUSALS)
def test_a_refused_run_that_was_to_start_over_moves_and_writes_nothing(tmp_path: Path, reason: str) -> None:
    file, folder = pipeline_file(tmp_path), tmp_path / "run"
    for kind in ("streams", "checkpoints", "results"):
        (folder / kind / "parser").mkdir(parents=True)
        (folder / kind / "parser" / "kept").touch()
    np.save(folder / ARRIVALS, TIMES_US)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        more = REFUSALS[reason](file, folder, taken.getsockname()[1])
        before = content(folder)
        said = program.complaint("run", file, "--folder", folder, "--start-over", "--json", *more)
    assert reason in said
    assert content(folder) | {f"{folder}/lock": b""} == before | {f"{folder}/lock": b""}
