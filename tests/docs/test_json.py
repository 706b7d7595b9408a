"""The page of JSON documents names the keys that commands print: all of them, and no others."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from _pytest.mark import ParameterSet
from tests.cli.program import Word, answer
from tests.experiments import program as experiments
from tests.paths import EXAMPLES, ROOT
from tests.spark.event_log.made_log import write_log

PAGE = ROOT / "docs/reference/json.md"
LOG_ANALYSIS = EXAMPLES / "log-analysis.yaml"
TICKED = re.compile(r"`([^`]+)`")
NAMES = {"parser", "counter", "matcher", "synt", "k"}
"""Of operators and workloads in the examples, which are keys of a document, too; and one that is a letter."""

ANYTHING = {"options", "round"}
"""What is below is not this page's: options of a policy, and rounds, are told elsewhere."""

REFERS = {"The answer of `mead explain`", "The answer of `mead report`"}
"""Of these the page says that they have keys of `mead history`."""

PROPER = {"ET"}
"""Other keys in capitals, such as PATH, stand for names of somebody's."""

RARE = {
    "The answer of `mead allocate`": {"error", "type", "message", "needed", "reason"},
}
"""Keys of answers that the cases below do not lead to."""


def sections() -> dict[str, str]:
    """The page by title; of a section with several experiments, each table by its own."""
    parts = re.split(r"(?m)^## (.+)\n", PAGE.read_text())[1:]
    found = dict(zip(parts[::2], parts[1::2], strict=True))
    documents = found["The documents of the experiments"]
    for table in re.split(r"(?m)^(?=\| key of )", documents)[1:]:
        title = table.partition("|\n")[0]
        for experiment in TICKED.findall(title):
            found[f"experiments {experiment}"] = f"{documents.partition('|')[0]}{table}"
    return found


def named_first(section: str) -> set[str]:
    """The last part of every key in the first column of its tables."""
    rows = re.findall(r"(?m)^\| (?!key|---)([^|]+)\|", section)
    keys = (key.split(".")[-1].removesuffix("[]") for row in rows for key in TICKED.findall(row))
    return {key for key in keys if re.fullmatch(r"[A-Za-z]\w*", key) and (key in PROPER or not key.isupper())}


def named_anywhere(section: str) -> set[str]:
    return {word for ticked in TICKED.findall(section) for word in re.findall(r"\w+", ticked)}


def keys_of(document: Any) -> Iterator[str]:
    """Every key that is a word and no name of somebody's."""
    if isinstance(document, dict):
        for key, value in document.items():
            if re.fullmatch(r"[A-Za-z]\w*", key) and key not in NAMES:
                yield key
            if key not in ANYTHING:
                yield from keys_of(value)
    elif isinstance(document, list):
        for value in document:
            yield from keys_of(value)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With arrivals, and the history of a run."""
    place = tmp_path_factory.mktemp("documents")
    np.save(place / "arrivals.npy", np.cumsum(np.random.default_rng(1).exponential(1 / 300, 15_000)))
    words = ("--policy", "mg1", "--option", "interval_s=10", "--history", place / "past.sqlite")
    answer("simulate", LOG_ANALYSIS, "--trace", place / "arrivals.npy", *words)
    return place


MG1 = ("--policy", "mg1")
Words = Callable[[Path], tuple[Word, ...]]
CASES: dict[str, list[Words]] = {
    "The answer of `mead allocate`": [
        lambda _: ("allocate", EXAMPLES / "allocate-video.json"),
        lambda place: ("allocate", case(place, {"gamma": [6.0, 0.0], "G": [[0.0, 0.5], [0.0, 0.0]]})),
    ],
    "The answer of `mead solve`": [lambda _: ("solve", EXAMPLES / "solve-log-analysis.json")],
    "The answer of `mead fit`": [lambda place: ("fit", place / "arrivals.npy", "--window", 3000, "--best", 1)],
    "The answer of `mead generate`": [
        lambda place: ("generate", "poisson", "--rate", 10, "--duration", 10, "-o", place / "generated.npy")
    ],
    "The answer of `mead advise`": [
        lambda place: ("advise", write_log(place / "app-1", s=20.0), "--requirement", "p95 <= 1 s")
    ],
    "The answer of `mead simulate`": [
        lambda place: ("simulate", LOG_ANALYSIS, "--trace", place / "arrivals.npy", *MG1)
    ],
    "The answer of `mead plan`": [lambda place: ("plan", LOG_ANALYSIS, "--trace", place / "arrivals.npy", *MG1)],
    "The answer of `mead evaluate`": [
        lambda place: ("evaluate", LOG_ANALYSIS, "--trace", place / "arrivals.npy", *MG1)
    ],
    "The answer of `mead history`": [
        lambda place: ("history", place / "past.sqlite"),
        lambda place: ("history", place / "past.sqlite", "--run", 1),
    ],
    "The answer of `mead explain`": [lambda place: ("explain", "last", place / "past.sqlite")],
    "The answer of `mead report`": [lambda place: ("report", place / "past.sqlite", "-o", place / "report.html")],
    "The answer of `mead top`": [lambda place: ("top", place / "past.sqlite")],
    "The answer of `mead metrics list`": [lambda _: ("metrics", "list")],
    "experiments mead-table1": [
        lambda _: ("experiments", "mead-table1", "--only", "synt", "--duration", 70, "--no-bounds", *MG1)
    ],
    "experiments arena": [
        lambda _: ("experiments", "arena", "--workload", "synt", "--seeds", 1, "--duration", 60, "--no-bounds", *MG1)
    ],
    "experiments drs-fig6": [lambda _: ("experiments", "drs-fig6", "--seeds", 1)],
    "experiments drs-fig7": [lambda _: ("experiments", "drs-fig7", "--seeds", 1)],
    "experiments drs-demands": [lambda _: ("experiments", "drs-demands", "--step", "0.1")],
    "experiments drs-fig8": [lambda _: ("experiments", "drs-fig8")],
    "experiments drs-fig9": [lambda _: ("experiments", "drs-fig9", "--seeds", 1)],
    "experiments drs-fig10": [lambda _: ("experiments", "drs-fig10", "--seeds", 1)],
    "experiments drs-table2": [lambda _: ("experiments", "drs-table2")],
}


def document(program: Word, *words: Word) -> Any:
    """The document of a command, or of an experiment."""
    return experiments.answer(*words) if program == "experiments" else answer(program, *words)


def case(place: Path, content: dict[str, Any]) -> Path:
    file = place / "case.json"
    file.write_text(json.dumps(content))
    return file


def by_length() -> list[ParameterSet]:
    """Experiments take longer than commands."""
    return [pytest.param(title, marks=[pytest.mark.slow] if "experiments" in title else []) for title in CASES]


@pytest.mark.parametrize("title", by_length())
def test_the_page_names_the_keys_that_a_command_prints(title: str, folder: Path) -> None:
    section = sections()[title]
    if title in REFERS:
        section += sections()["The answer of `mead history`"]
    printed = {key for words in CASES[title] for key in keys_of(document(*words(folder)))}
    assert printed <= named_anywhere(section), "the page does not name these keys"
    promised = named_first(sections()[title]) - NAMES - RARE.get(title, set())
    assert promised <= printed, "these keys are promised, and not printed"
