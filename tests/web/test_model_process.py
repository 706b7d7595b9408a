from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from mead.web.model_process import ModelProcess, TooSlowError, WithdrawnError

ALONE = """
import sys
from mead.web.model_process import ModelProcess
if __name__ == "__main__":
    models = ModelProcess()
    print(models.ask(dict, [("pid", 1)]), models._process.pid, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def models() -> Iterator[ModelProcess]:
    process = ModelProcess(most_wait_s=30.0)
    yield process
    process.close()


def test_it_answers_and_raises_what_went_wrong_there(models: ModelProcess) -> None:
    assert models.ask(dict, [("a", 1)]) == {"a": 1}
    with pytest.raises(ZeroDivisionError):
        models.ask(divmod, 1, 0)
    assert models.ask(dict) == {}


def test_what_nobody_waits_for_is_not_computed(models: ModelProcess, tmp_path: Path) -> None:
    with pytest.raises(WithdrawnError):
        models.ask(os.mkdir, tmp_path / "made", wanted=lambda: False)  # type: ignore[arg-type]
    assert models._process is None, "it is not even started"
    assert models.ask(dict) == {}


def test_it_runs_only_when_nothing_else_does(models: ModelProcess) -> None:
    models.ask(dict)
    assert os.sched_getscheduler(models._process.pid) == os.SCHED_IDLE


def test_what_takes_too_long_is_ended_and_the_next_question_answered() -> None:
    models = ModelProcess(most_wait_s=30.0)
    models.ask(dict)
    first = models._process.pid
    models.most_wait_s = 0.2
    with pytest.raises(TooSlowError, match="no answer within"):
        models.ask(time.sleep, 60)  # type: ignore[arg-type]
    assert not Path(f"/proc/{first}").exists()
    models.most_wait_s = 30.0
    assert models.ask(dict) == {}
    models.close()


def test_closing_in_the_middle_of_an_answer_keeps_nobody_waiting() -> None:
    models, ended = ModelProcess(most_wait_s=600.0), []

    def ask() -> None:
        with pytest.raises(TooSlowError):
            models.ask(time.sleep, 600)  # type: ignore[arg-type]
        ended.append(True)

    models.ask(dict)
    asking = Thread(target=ask, daemon=True)
    asking.start()
    time.sleep(0.2)  # the question is on its way
    models.close()
    asking.join(30)
    assert ended == [True]


def test_whoever_waits_while_it_closes_starts_nothing_anew() -> None:
    models, refused = ModelProcess(most_wait_s=600.0), []

    def ask(seconds: int) -> None:
        with pytest.raises(TooSlowError) as error:
            models.ask(time.sleep, seconds)  # type: ignore[arg-type]
        refused.append(str(error.value))

    models.ask(dict)
    asking = [Thread(target=ask, args=(seconds,), daemon=True) for seconds in (600, 0)]
    for one in asking:
        one.start()
        time.sleep(0.2)  # the first question is on its way, the second waits for its turn
    models.close()
    for one in asking:
        one.join(30)
    assert sorted(refused) == ["the page is closing", "the process that computes predictions has ended; ask again"]
    assert models._process is None


def test_a_process_that_died_is_started_again(models: ModelProcess) -> None:
    models.ask(dict)
    os.kill(models._process.pid, signal.SIGKILL)
    models._process.join()
    with pytest.raises(TooSlowError, match="has ended"):
        models.ask(dict)
    assert models.ask(dict) == {}


def test_it_does_not_outlive_the_one_who_asks(tmp_path: Path) -> None:
    script = tmp_path / "alone.py"
    script.write_text(ALONE)
    streams: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, script], **streams) as asking:
        assert asking.stdout is not None
        child = int(asking.stdout.readline().split()[-1])
        asking.kill()
    deadline = time.monotonic() + 60
    while _lives(child):
        assert time.monotonic() < deadline, "it is still there"
        time.sleep(0.05)


def _lives(pid: int) -> bool:
    """A process that has ended may wait as a zombie for whoever adopted it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
