"""``mead advise`` as a user meets it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.program import answer, complaint, run
from tests.spark.event_log.made_log import Work, as_lines, events, poisson, run_query, write_log

BOUND = ("--requirement", "p95 <= 0.5 s")


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_log(tmp_path_factory.mktemp("logs") / "app-1", slots=4, work=Work(partitions=8), s=40.0)


def test_tables_and_sentences_say_what_to_do(log: Path) -> None:
    result = run("advise", log, *BOUND, "--price-per-core-hour", "0.05", columns=100)
    assert result.exit_code == 0, result.output
    said = " ".join(result.stdout.split())
    for words in ("waiting for the next micro-batch", "4 (recorded)", "scores: Take 2 cores instead of 4 cores: p95"):
        assert words in said
    assert "73.00 a month instead of 146.00" in said  # 730 hours
    assert "evenly spread" in said


def test_the_document_has_the_same_numbers(log: Path) -> None:
    found = answer("advise", log, *BOUND, "--price-per-core-hour", "0.05")
    (query,) = found["queries"]
    assert found["application"] == "shop"
    assert found["size"] == query["cheapest"] == 2
    assert query["recorded"] == 4
    assert query["latency"]["estimated"] is True
    chosen = next(size for size in query["sizes"] if size["size"] == 2)
    assert chosen["met"] is True
    assert chosen["cost_per_month"] == pytest.approx(73.0)
    assert query["slot_s_per_row"] > query["cpu_s_per_row"] > 0


def test_a_higher_load_needs_more(log: Path) -> None:
    more = answer("advise", log, *BOUND, "--load", "3")["queries"][0]["cheapest"]
    assert more is None or more > 2


def test_every_query_of_an_application_is_advised(tmp_path: Path) -> None:
    work = Work()
    one = list(events(run_query(poisson(60.0, 30.0), 2, work), 2, work))
    text = as_lines(one[5:-1]).replace(b"11111111-", b"77777777-").replace(b"22222222-", b"88888888-")
    text = text.replace(b'"scores"', b'"clicks"').replace(b'"Stage ID":', b'"Stage ID":1000')
    text = text.replace(b'"Stage IDs":[', b'"Stage IDs":[1000')
    log = tmp_path / "two"
    log.write_bytes(as_lines(one[:-1]) + text + as_lines(one[-1:]))
    found = answer("advise", log, *BOUND)
    assert [query["name"] for query in found["queries"]] == ["scores", "clicks"]
    assert all(query["other_slots"] > 0.1 for query in found["queries"])
    assert "The 2 queries share the application's cores" in run("advise", log, *BOUND, columns=200).stdout


def test_mistakes_are_told_in_one_line(log: Path, tmp_path: Path) -> None:
    assert "a requirement reads like 'mean <= 0.5 s'" in complaint("advise", log, "--requirement", "fast")
    assert complaint("advise", tmp_path, *BOUND).startswith(f"mead advise: {tmp_path}: holds no event log; write one")
    (tmp_path / "app.txt").write_text("hello\n")
    assert "app.txt:1: is no event of Spark" in complaint("advise", tmp_path / "app.txt", *BOUND)
    short = write_log(tmp_path / "short", s=0.5)
    assert "usable micro-batches; at least 5 are needed; let the query run longer" in complaint("advise", short, *BOUND)
