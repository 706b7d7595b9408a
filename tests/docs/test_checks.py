"""The checks of the documentation find mistakes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.docs.pages import PAGES, Snippet, shortened, snippets
from tests.docs.spelling import complaint_about, unknown_in
from tests.docs.terminal import steps
from tests.docs.test_snippets import LOOKS_TYPED, check_json, check_untried, check_yaml
from tests.web.prometheus import why_no_prometheus


def block(language: str, text: str) -> Snippet:
    return Snippet(language, "", text, "page.md:1")


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("mead rnu pipeline.yaml", "rnu"),
        ("mead run", "PIPELINE"),
        ("mead run pipeline.yaml --sevre", "--sevre"),
        ("mead run pipeline.yaml --mode advice", "advice"),
        ("mead generate fractal -o arrivals.csv", "fractal"),
        (".venv/bin/python benchmarks/bench_policies.py --parts fresh", "has no --parts"),
        ("benchmarks/bench_nothing.py", "there is no benchmarks/bench_nothing.py"),
        ("rm -r runs", "rm is no program of ours"),
    ],
)
def test_a_command_that_would_be_refused_is(command: str, said: str) -> None:
    assert said in complaint_about(command)


@pytest.mark.parametrize(
    "command", ["mead run p.yaml --master spark://m:7077 --mode advise", "python -m experiments arena"]
)
def test_a_command_that_would_begin_is_not(command: str) -> None:
    assert complaint_about(command) == ""


@pytest.mark.parametrize(
    ("mentioned", "missing"),
    [
        ("python -m experiments drs-fig66", "drs-fig66"),
        ("mead generate map --rat 3", "--rat"),
        ("mead generate KIND -o FILE", ""),
        ("mead history --run -1", ""),
    ],
)
def test_a_mention_may_be_short_but_not_wrong(mentioned: str, missing: str) -> None:
    assert unknown_in(mentioned) == missing


@pytest.mark.parametrize("typed", ["cd runs && ls", "mkdir a && cd a", "pushd runs", "export MASTER=local"])
def test_what_changes_the_shell_for_whoever_reads_on_is_refused(typed: str) -> None:
    with pytest.raises(AssertionError, match="changes the reader"):
        steps(block("console", f"$ {typed}\n"))


def test_a_subshell_and_the_path_are_not() -> None:
    found = steps(block("console", '$ (cd runs && ls)\n$ export PATH="$PWD/.venv/bin:$PATH"\n'))
    assert [step.interrupted for step in found] == [False, False]


def test_a_terminal_in_which_nothing_is_typed_is_refused() -> None:
    with pytest.raises(AssertionError, match="there is no command in this block"):
        steps(block("console", "mead doctor\n"))


def test_ctrl_c_ends_the_command_above_it() -> None:
    (step,) = steps(block("console", "$ mead serve runs/demo\nhttp://127.0.0.1:8765/\n^C\nover\n"))
    assert (step.interrupted, step.printed) == (True, "http://127.0.0.1:8765/\nover\n")


@pytest.mark.parametrize(
    ("language", "text", "check"),
    [
        ("yaml", "policy: {name: replay, two_levels: true}\n", check_yaml),
        ("yaml", "operators: [{name: a, demnd_s: 0.1}]\n", check_yaml),
        ("yaml", "name: shouting\noperators: [{name: a, demand_s: 0.1}]\n", check_yaml),
        ("json", '{"operators": [{"name": "a"}]}', check_json),
        ("python", "from mead.spark.sources.kafka import as_rows\n", check_untried),
        ("python", "rows\n    .load()\n", check_untried),
    ],
)
def test_a_block_that_would_not_work_is_refused(language: str, text: str, check: Callable[[Snippet], None]) -> None:
    with pytest.raises((AssertionError, SyntaxError, ValueError)):
        check(block(language, text))


def test_prometheus_reads_its_own_blocks() -> None:
    if reason := why_no_prometheus():
        pytest.skip(reason)
    blocks = [one for page in PAGES for one in snippets(page) if one.text.startswith("scrape_configs:")]
    assert [one.language for one in blocks] == ["yaml"]
    check_yaml(blocks[0])
    with pytest.raises(AssertionError, match="scrape_intervall not found"):
        check_yaml(block("yaml", blocks[0].text.replace("scrape_interval", "scrape_intervall")))


def test_what_cannot_be_made_short_is_left_as_it_is() -> None:
    assert shortened(Snippet("console", "takes-minutes", "$ benchmarks/bench_policies.py\n", "")) is None
    assert shortened(Snippet("console", "needs-cluster", "$ mead run my.yaml\n", "")) is None
    found = shortened(
        Snippet("console", "takes-minutes", "$ python -m experiments arena --trace bc=FILE\n", ""), Path("/mine")
    )
    assert found is not None
    assert "--trace bc=/mine/arrivals.npy --seeds 1 " in found.text


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("$ ls\n", True),
        ("python -m experiments arena --seeds 3\n", True),
        (">>> import mead\n", True),
        ("mead simulate: pipe.yaml:6: operators[2].demnd_s: there is no such key\n", False),
        ("In mode act: 1.24 cores\n", False),
    ],
)
def test_what_looks_typed_is_told_from_what_is_printed(text: str, *, typed: bool) -> None:
    assert bool(LOOKS_TYPED.search(text)) == typed
