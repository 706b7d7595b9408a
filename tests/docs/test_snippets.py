"""Every command and every line of Python in the README and the documentation does what the page says."""

from __future__ import annotations

import doctest
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark import SparkContext
from tests.spark.rabbitmq import why_no_broker
from typer.testing import CliRunner

from mead.cli import app

ROOT = Path(__file__).parents[2]
GENERATED = ROOT / "docs/reference/commands.md"
"""Made from the program, and compared with it in test_site."""

PAGES = [ROOT / "README.md", *sorted(page for page in (ROOT / "docs").rglob("*.md") if page != GENERATED)]

FENCE = re.compile(r"^(?P<indent> *)```(?P<language>[^\n`]*)\n(?P<text>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|#|mailto:)(?P<target>[^)#\s]+)")
STEP = re.compile(
    r"^\$ (?P<command>(?:.*\\\n)*(?:.*<<'(?P<end>\w+)'\n(?:.*\n)*?(?P=end)|.*))\n(?P<expected>(?:(?!\$ ).*\n)*)",
    re.MULTILINE,
)
"""A command, which may go on behind a backslash or up to the end of a text that is handed to it, and its output."""

SHELL_SIGNS = re.compile(r"[|&;<>$`]")
TERMINAL = {"COLUMNS": "100", "NO_COLOR": "1"}
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE

SHOWN_ONLY = {"text", "yaml", "{toctree}", "{eval-rst}"}
"""Formats and layout: nothing in them can be run."""

STARTS_SPARK = re.compile(r"^(?:>>> .*\bpyspark\b|\$ mead (?:run|demo|characterize) |\$ python )", re.MULTILINE)


@dataclass(frozen=True)
class Snippet:
    language: str
    text: str
    place: str


def snippets(page: Path) -> list[Snippet]:
    source = page.read_text()
    return [
        Snippet(
            language=fence["language"].strip().split(" ")[0],
            text="".join(line.removeprefix(fence["indent"]) for line in fence["text"].splitlines(keepends=True)),
            place=f"{page.relative_to(ROOT)}:{source.count(chr(10), 0, fence.start()) + 1}",
        )
        for fence in FENCE.finditer(source)
    ]


def run_session(snippet: Snippet, folder: Path) -> None:
    """A terminal session: what follows ``$`` is run, and the lines below it must be what it prints."""
    for step in STEP.finditer(snippet.text):
        printed = run_command(step["command"], folder, snippet.place)
        if step["expected"].strip():
            matches = doctest.OutputChecker().check_output(step["expected"], printed, FLAGS)
            assert matches, f"{snippet.place}: `{step['command']}` prints\n{printed}\nnot\n{step['expected']}"


def run_command(command: str, folder: Path, place: str) -> str:
    if command.startswith("mead ") and not SHELL_SIGNS.search(command):
        # In this process, where the libraries are loaded already: a page has up to a dozen commands.
        words = shlex.split(command.replace("\\\n", " "))[1:]
        result = CliRunner().invoke(app, words, env=TERMINAL)
        code, printed = result.exit_code, result.output
    else:
        code, printed = run_in_shell(command, folder)
    assert code == 0, f"{place}: `{command}` exits with {code}\n{printed}"
    return printed


def run_in_shell(command: str, folder: Path) -> tuple[int, str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    environment |= TERMINAL | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    if command.startswith("make "):
        # What a target does is tested elsewhere; here it has to exist.
        command, folder = command.replace("make ", "make --dry-run ", 1), ROOT
    run = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return run.returncode, run.stdout


def run_python(snippet: Snippet, names: dict[str, object]) -> None:
    examples = doctest.DocTestParser().get_doctest(snippet.text, names, snippet.place, None, 0)
    assert examples.examples, f"{snippet.place}: write Python with >>> so that its output can be checked"
    report: list[str] = []
    doctest.DocTestRunner(optionflags=FLAGS).run(examples, out=report.append, clear_globs=False)
    assert not report, "".join(report)
    names.update(examples.globs)


def ignored(names: set[str]) -> set[str]:
    """Those of some files in the project's folder that Git would not see; all of them without Git."""
    if not names or not (ROOT / ".git").exists():
        return names
    asked = ["git", "check-ignore", "--no-index", *sorted(names)]
    run = subprocess.run(asked, cwd=ROOT, check=False, capture_output=True, text=True)
    return set(run.stdout.split())


def page_name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def starts_spark(page: Path) -> bool:
    return any(STARTS_SPARK.search(one.text) for one in snippets(page) if one.language in {"console", "pycon"})


@pytest.mark.parametrize("page", [page for page in PAGES if snippets(page) and not starts_spark(page)], ids=page_name)
def test_page_does_what_it_says(page: Path, folder: Path) -> None:
    before = SparkContext._gateway
    do_what_it_says(page, folder)
    assert SparkContext._gateway is before, "it starts Spark: have STARTS_SPARK see that"


@pytest.fixture
def _own_java() -> Iterator[None]:
    """The Java machine that a page has started ends with it: the next one works in another folder."""
    yield
    gateway = SparkContext._gateway
    if gateway is not None and SparkContext._active_spark_context is None:
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait()
        SparkContext._gateway = SparkContext._jvm = None


@pytest.mark.usefixtures("_own_java")
@pytest.mark.parametrize("page", [page for page in PAGES if starts_spark(page)], ids=page_name)
def test_page_does_what_it_says_on_spark(page: Path, folder: Path) -> None:
    if page.name == "use-my-broker.md" and (reason := why_no_broker()):
        pytest.skip(reason)
    do_what_it_says(page, folder)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a reader has the examples, and works."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def do_what_it_says(page: Path, folder: Path) -> None:
    names: dict[str, object] = {}
    for snippet in snippets(page):
        match snippet.language:
            case "console":
                run_session(snippet, folder)
            case "pycon":
                run_python(snippet, names)
            case "json":
                json.loads(snippet.text)
            case language:
                assert language in SHOWN_ONLY, f"{snippet.place}: mark this block console, pycon, json, yaml or text"
    written = {path.name + "/" * path.is_dir() for path in folder.iterdir() if not path.is_symlink()}
    assert not written - ignored(written), f"{page_name(page)} leaves files in a clone: have .gitignore name them"


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for link in LINK.finditer(page.read_text()):
        assert (page.parent / link["target"]).exists(), f"{page_name(page)} links to {link['target']}"
