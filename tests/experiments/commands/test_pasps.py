"""``python -m experiments pasps-...``: documents, tables and refusals."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.experiments.program import answer, complaint, run

ROWS = ("--system", "pasps@predictor=lr", "--system", "static@replicas=4")


@pytest.mark.parametrize(
    ("name", "tables"),
    [("pasps-models", 1), ("pasps-storm", 1), ("pasps-peers", 1), ("pasps-complex", 1), ("pasps-datasets", 3)],
)
def test_every_experiment_is_one_document(name: str, tables: int) -> None:
    document = answer(name, "--duration", 120, *ROWS)
    assert document["experiment"] == name
    assert len(document["tables"]) == tables
    for table in document["tables"]:
        assert [row["system"] for row in table["rows"]] == ["pasps@predictor=lr", "static@replicas=4"]
        assert table["rows"][1]["metrics"]["input_error"] is None
        assert 0 < table["rows"][0]["metrics"]["processed"] <= 1.01


def test_the_paper_stands_below_ours() -> None:
    lines = run("pasps-models", "--duration", 120, *ROWS).stdout.splitlines()
    place = next(i for i, line in enumerate(lines) if line.startswith("lr"))
    assert lines[place + 1].split() == ["paper", "0.533", "0.195", "1.000", "663", "0.090", "0.140"]


def test_the_same_seed_gives_the_same_answer() -> None:
    words = ("pasps-storm", "--duration", 90, *ROWS, "--seed", 3)
    assert answer(*words) == answer(*words)


def test_figures_are_drawn_and_groupings_compared(tmp_path: Path) -> None:
    document = answer("pasps-storm", "--duration", 90, *ROWS, "--plot", tmp_path / "figures")
    assert document["files"] == [str(tmp_path / "figures" / "pasps-table-3.png")]
    ours, static = document["tables"][0]["rows"]
    assert (ours["grouping"], static["grouping"]) == ("load_aware", "storm")
    assert not ours["groupings"]  # the paper has no such row
    assert static["groupings"]["storm"] == static["metrics"]
    assert static["groupings"]["shared"]["latency_ms"] == pytest.approx(static["metrics"]["latency_ms"], rel=0.02)


def test_rates_of_the_logs_may_be_given(tmp_path: Path) -> None:
    rates = tmp_path / "rates.csv"
    rates.write_text("time,value\n" + "".join(f"{second},500\n" for second in range(120)))
    logs = answer("pasps-datasets", "--log-rates", rates, *ROWS, "--duration", 120)["tables"][2]
    assert logs["scenario"] == "system logs (rates.csv)"
    assert logs["rows"][0]["metrics"]["saved"] > 0.6


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["--system", "pasps@interval_s=60"], "the tables are of intervals of 30 s; leave interval_s out"),
        (["--system", "pspss"], "there is no policy 'pspss'"),
        (["--system", "pasps@predictor=oracle"], "option of pasps: predictor"),
        (["--log-rates", "nowhere.csv"], "nowhere.csv: cannot be read"),
        (["--duration", "5"], "--duration"),
    ],
)
def test_mistakes_are_named_in_one_line(words: list[str], what: str) -> None:
    assert what in complaint("pasps-datasets", *words)
