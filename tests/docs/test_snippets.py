"""Every command and every line of Python in the README and the documentation does what the page says."""

from __future__ import annotations

import ast
import doctest
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
import yaml
from _pytest.mark import ParameterSet
from pyspark import SparkContext
from tests.cli import program
from tests.docs.pages import PAGES, SECOND_TERMINAL, THEIRS, UNTRIED, Snippet, page_name, shortened, snippets
from tests.docs.spelling import complaint_about
from tests.docs.terminal import FLAGS, steps, type_all
from tests.paths import ROOT
from tests.spark.sources.rabbitmq.broker import why_no_broker
from tests.web.prometheus import why_no_prometheus

from mead.config import PipelineKeys, parse_pipeline, read_pipeline, read_yaml
from mead.loading import modules_in
from mead.web.prometheus.alerts import alert_rules

SHOWN_ONLY = {"text", "{toctree}", "{eval-rst}"}
"""Output of programs, drawings in letters, and layout."""

LOOKS_TYPED = re.compile(r"^(?:\$ |>>> |(?:mead|make|pip|python3?|(?:benchmarks|\.venv)/\S+) (?!\S+: ))", re.MULTILINE)
"""A line that a reader may be meant to type. In an error message, a colon follows the name of the program."""

STARTS_SPARK = re.compile(
    r"^(?:>>> .*\b(?:pyspark|mead\.spark\.session)\b|\$ python (?!-m experiments (?!live |ppq-live ))"
    r"|\$ mead (?:run|demo|characterize|preference) |\$ mead evaluate .*--live)",
    re.MULTILINE,
)


def run_python(snippet: Snippet, names: dict[str, object]) -> None:
    examples = doctest.DocTestParser().get_doctest(snippet.text, names, snippet.place, None, 0)
    assert examples.examples, f"{snippet.place}: write Python with >>> so that its output can be checked"
    report: list[str] = []
    doctest.DocTestRunner(optionflags=FLAGS).run(examples, out=report.append, clear_globs=False)
    assert not report, "".join(report)
    names.update(examples.globs)


def check_yaml(snippet: Snippet) -> None:
    """Read a part of a pipeline file with the missing keys added, and compare a whole file with the example."""
    found: Any = read_yaml(snippet.text.encode()).value
    if "scrape_configs" in found:
        check_prometheus(snippet, found.get("rule_files", []))
        return
    if not found.keys() & PipelineKeys.model_fields.keys():
        yaml.safe_load(snippet.text)  # of another program
        return
    modules_in(ROOT / "examples")
    rest = {"name": "rest", "operators": [{"name": "operator", "demand_s": 0.001}]}
    read = parse_pipeline(json.dumps(rest | found).encode())
    shipped = ROOT / "examples" / f"{read.keys.name}.yaml"
    if rest.keys() <= found.keys() and shipped.exists():
        assert read.keys == read_pipeline(shipped).keys, f"{snippet.place} is not {page_name(shipped)}"


def check_prometheus(snippet: Snippet, rule_files: list[str]) -> None:
    """Have Prometheus check it with our alert rules, if it is installed."""
    if why_no_prometheus():
        return
    with TemporaryDirectory() as place:
        file = Path(place) / "prometheus.yml"
        file.write_text(snippet.text)
        for name in rule_files:
            (file.parent / name).write_text(alert_rules())
        run = subprocess.run(["promtool", "check", "config", file], check=False, capture_output=True, text=True)
        assert run.returncode == 0, f"{snippet.place}: {run.stdout}{run.stderr}"


def check_json(snippet: Snippet) -> None:
    """Pass the case to the command that answers it."""
    document = json.loads(snippet.text)
    for command, key in (("solve", "operators"), ("allocate", "mu_i")):
        if key in document:
            assert program.answer(command, "-", stdin=snippet.text)


def check_untried(snippet: Snippet) -> None:
    """Check that the commands, options and imports of a block exist that no test runs."""
    match snippet.language:
        case "console":
            for step in steps(snippet):
                complaint = complaint_about(step.command)
                assert not complaint, f"{snippet.place}: `{step.command}`: {complaint}"
        case "python":
            for node in ast.walk(ast.parse(snippet.text, snippet.place)):
                if isinstance(node, ast.ImportFrom) and node.module:
                    assert all(hasattr(import_module(node.module), name.name) for name in node.names), snippet.place
        case language:
            pytest.fail(f"{snippet.place}: {snippet.mark} is for console and python, not for {language}")


def files_of_a_reader(folder: Path) -> Path:
    """Write two minutes of arrivals, and their number in every second."""
    rng = np.random.default_rng(1)
    folder.mkdir(exist_ok=True)
    np.save(folder / THEIRS["bc=FILE"], np.cumsum(rng.exponential(1 / 100, 12_000)))
    counts = "\n".join(map(str, rng.poisson(100, 120)))
    (folder / THEIRS["logs=FILE"]).write_text(f"value\n{counts}\n")
    return folder


def ignored(names: set[str]) -> set[str]:
    """The files in the project's folder that Git ignores; all of them without Git."""
    if not names or not (ROOT / ".git").exists():
        return names
    asked = ["git", "check-ignore", "--no-index", *sorted(names)]
    run = subprocess.run(asked, cwd=ROOT, check=False, capture_output=True, text=True)
    return set(run.stdout.split())


def starts_spark(page: Path) -> bool:
    tried = (one for one in snippets(page) if one.mark not in UNTRIED or shortened(one))
    return any(STARTS_SPARK.search(one.text) for one in tried if one.language in {"console", "pycon"})


@pytest.mark.parametrize("page", [page for page in PAGES if snippets(page) and not starts_spark(page)], ids=page_name)
def test_page_does_what_it_says(page: Path, folder: Path) -> None:
    before = SparkContext._gateway
    do_what_it_says(page, folder)
    assert SparkContext._gateway is before, "it starts Spark: have STARTS_SPARK see that"


@pytest.fixture
def _own_java() -> Iterator[None]:
    """End the Java machine of a page: the next page works in another folder."""
    yield
    gateway = SparkContext._gateway
    if gateway is not None and SparkContext._active_spark_context is None:
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait()
        SparkContext._gateway = SparkContext._jvm = None


QUICK = ("README.md",)
"""Pages on Spark that `make test` tries; `make test-slow` tries the others."""


def on_spark() -> Iterator[ParameterSet]:
    for page in PAGES:
        if starts_spark(page):
            marks = () if page_name(page) in QUICK else (pytest.mark.slow,)
            yield pytest.param(page, marks=marks, id=page_name(page))


@pytest.mark.spark
@pytest.mark.usefixtures("_own_java")
@pytest.mark.parametrize("page", list(on_spark()))
def test_page_does_what_it_says_on_spark(page: Path, folder: Path) -> None:
    if page.name == "use-my-broker.md" and (reason := why_no_broker()):
        pytest.skip(reason)
    do_what_it_says(page, folder)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a reader with a clone."""
    for name in ("benchmarks", "examples", "experiments", "src"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / ".venv").symlink_to(sys.prefix)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def do_what_it_says(page: Path, folder: Path) -> None:
    names: dict[str, object] = {}
    todo = snippets(page)
    theirs = files_of_a_reader(folder.with_name(f"{folder.name}-theirs"))
    while todo:
        snippet = todo.pop(0)
        snippet = shortened(snippet, theirs) or snippet
        match snippet.language:
            case _ if snippet.mark in UNTRIED:
                check_untried(snippet)
            case "console" if not snippet.mark:
                elsewhere = []
                while todo and todo[0].mark == SECOND_TERMINAL:
                    elsewhere.append(todo.pop(0))
                type_all(snippet, folder, elsewhere)
            case "pycon":
                run_python(snippet, names)
            case "json":
                check_json(snippet)
            case "yaml":
                check_yaml(snippet)
            case language:
                said = f"{snippet.place}: mark this block console, pycon, json, yaml or text, not {language}"
                assert language in SHOWN_ONLY, f"{said} {snippet.mark}"
                typed = [found[0] for found in LOOKS_TYPED.finditer(snippet.text)]
                assert not typed, f"{snippet.place}: what follows {typed} is never run: mark this block console"
    written = {path.name + "/" * path.is_dir() for path in folder.iterdir() if not path.is_symlink()}
    assert not written - ignored(written), f"{page_name(page)} leaves files in a clone: have .gitignore name them"


def test_what_no_test_run_executes_is_counted() -> None:
    """A new block of this kind is added here. The tests above run all others, some of them shortened."""
    blocks = [one for page in PAGES for one in snippets(page) if one.mark in UNTRIED]
    marks = Counter(one.mark for one in blocks if not shortened(one))
    assert marks == {"needs-cluster": 1, "needs-kafka": 2, "needs-query": 2, "takes-minutes": 1}
