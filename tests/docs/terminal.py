"""Types the commands of a page as a reader would, and compares the output."""

from __future__ import annotations

import doctest
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.request import urlopen

from experiments.commands import app as experiments_app
from tests.docs.pages import Snippet
from tests.docs.spelling import EXPERIMENTS
from tests.paths import ROOT
from tests.waiting import PATIENCE_S
from typer.testing import CliRunner

from mead.cli import app
from mead.cli.runs.serve import DEFAULT_PORT

STEP = re.compile(
    r"^\$ (?P<command>(?:.*\\\n)*(?:.*<<'(?P<end>\w+)'\n(?:.*\n)*?(?P=end)|.*))\n(?P<printed>(?:(?!\$ ).*\n)*)",
    re.MULTILINE,
)
"""A command, which may go on behind a backslash or up to the end of a text that is handed to it, and its output."""

PROGRAMS = {"mead": app, EXPERIMENTS: experiments_app}

CTRL_C = "^C\n"
"""As a terminal shows it: the reader ends a command that runs until then."""

OUTLIVES = re.compile(r"(?:^|[;&|]\s*)(?:cd\b|pushd\b|export (?!PATH=))")
"""Commands that change the reader's shell. The tests cannot follow: each command runs in a shell of its own."""

SHELL_SIGNS = re.compile(r"[|&;<>$`]")
SERVED = re.compile(r"http://127\.0\.0\.1:(?P<port>\d+)/")
TERMINAL = {"COLUMNS": "100", "NO_COLOR": "1"}
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
SCRIPTS = Path(sys.executable).parent
ROUNDS = 3


@dataclass(frozen=True)
class Step:
    """A command and its output; ``interrupted`` if it runs until Ctrl-C."""

    command: str
    printed: str
    interrupted: bool


def steps(snippet: Snippet) -> list[Step]:
    """The commands of a block that shows a terminal. They follow ``$``, with their output below."""
    found = []
    for step in STEP.finditer(snippet.text):
        first = step["command"].partition("\n")[0]
        assert not OUTLIVES.search(first), f"{snippet.place}: `{first}` changes the reader's shell"
        found.append(Step(step["command"], step["printed"].replace(CTRL_C, ""), CTRL_C in step["printed"]))
    assert found, f"{snippet.place}: there is no command in this block; begin it with `$ `, or call it text"
    return found


def type_all(snippet: Snippet, folder: Path, elsewhere: Sequence[Snippet] = ()) -> None:
    """Every command of a block; those of ``elsewhere`` in a second terminal, while the last one runs."""
    *before, last = steps(snippet)
    assert last.interrupted or not elsewhere, f"{snippet.place}: nothing runs while the second terminal is used"
    for step in before:
        assert not step.interrupted, f"{snippet.place}: end the block with what runs until Ctrl-C"
        compare(step, run_command(step.command, folder, snippet.place), snippet.place)
    if not last.interrupted:
        compare(last, run_command(last.command, folder, snippet.place), snippet.place)
        return
    with serving(last.command, folder) as server:
        port = server.port
        for other in elsewhere:
            for step in steps(other):
                typed = step.command.replace(f":{DEFAULT_PORT}/", f":{port}/")
                code, printed = run_in_shell(typed, folder, new_terminal=True)
                assert code == 0, f"{other.place}: `{step.command}` exits with {code}\n{printed}"
                compare(step, printed, other.place)
        compare(last, server.interrupted().replace(f":{port}/", f":{DEFAULT_PORT}/"), snippet.place)


def compare(step: Step, printed: str, place: str) -> None:
    if step.printed.strip():
        matches = doctest.OutputChecker().check_output(step.printed, printed, FLAGS)
        assert matches, f"{place}: `{step.command}` prints\n{printed}\nnot\n{step.printed}"


def run_command(command: str, folder: Path, place: str) -> str:
    program = next((name for name in PROGRAMS if command.startswith(f"{name} ")), None)
    if program and not SHELL_SIGNS.search(command):
        # In this process, which has loaded the libraries: a page has up to a dozen commands.
        words = shlex.split(command.removeprefix(program).replace("\\\n", " "))
        result = CliRunner().invoke(PROGRAMS[program], words, env=TERMINAL)
        code, printed = result.exit_code, result.output
    else:
        code, printed = run_in_shell(command, folder)
    assert code == 0, f"{place}: `{command}` exits with {code}\n{printed}"
    return printed


def run_in_shell(command: str, folder: Path, *, new_terminal: bool = False) -> tuple[int, str]:
    if command.startswith("make "):
        # Other tests run the targets; here they have to exist.
        command, folder = command.replace("make ", "make --dry-run ", 1), ROOT
    run = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment(new_terminal=new_terminal),
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return run.returncode, run.stdout


def environment(*, new_terminal: bool = False) -> dict[str, str]:
    """The environment of a shell with ``.venv/bin`` on the path, which a new terminal does not have."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    path = [place for place in os.environ["PATH"].split(os.pathsep) if Path(place) != SCRIPTS]
    return ours | TERMINAL | {"PATH": os.pathsep.join(path if new_terminal else [str(SCRIPTS), *path])}


@dataclass(frozen=True)
class Server:
    """A command that serves the page of a run until Ctrl-C."""

    process: subprocess.Popen[bytes]
    output: Path

    @property
    def port(self) -> int:
        """The port of its page, once the page shows rounds."""
        self.wait(lambda: SERVED.search(self.output.read_text()))
        found = SERVED.search(self.output.read_text())
        assert found
        self.wait(lambda: self.asked(f"{found[0]}api/run")["rounds"] >= ROUNDS)
        return int(found["port"])

    def asked(self, address: str) -> Any:
        with urlopen(address, timeout=PATIENCE_S) as answer:  # noqa: S310 - ours
            return json.load(answer)

    def wait(self, reached: Callable[[], object]) -> None:
        until_s = time.monotonic() + PATIENCE_S
        while not reached():
            assert self.process.poll() is None, f"it ended by itself: {self.output.read_text()}"
            assert time.monotonic() < until_s, f"it does not come so far: {self.output.read_text()}"
            time.sleep(0.2)

    def interrupted(self) -> str:
        """Press Ctrl-C, which a terminal sends to all processes of the command, and return the output."""
        os.killpg(self.process.pid, signal.SIGINT)
        code = self.process.wait(PATIENCE_S)
        assert code == 0, f"it exits with {code}: {self.output.read_text()}"
        return self.output.read_text()


@contextmanager
def serving(command: str, folder: Path) -> Iterator[Server]:
    """Run a server on a free port, and end it in any case."""
    with TemporaryDirectory() as place:
        output = Path(place) / "output"
        with output.open("wb") as file:
            process = subprocess.Popen(
                ["bash", "-c", f"exec {command} --port 0"],
                cwd=folder,
                env=environment(),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            yield Server(process, output)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
