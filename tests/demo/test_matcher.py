from __future__ import annotations

import pickle
import re
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mead.demo.calibration import MESSAGES, REPEATS, calibrate
from mead.demo.matcher import OUTPUT_SCHEMA, make_matcher
from mead.demo.patterns import SHIPPED, PatternError, read_patterns

ALL = read_patterns(SHIPPED)
TEXT = st.text(st.characters(exclude_categories=["Cs"]))


def messages(*texts: str) -> pa.RecordBatch:
    numbers = pa.array(range(len(texts)), pa.int64())
    columns = {"component": pa.array(["auth"] * len(texts), pa.string()), "message": pa.array(texts, pa.string())}
    return pa.record_batch({"id": numbers, "arrival_us": numbers, **columns})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "patterns.txt"
    path.write_text("# two\n\nslow:  \\d{4,} ms\n  refused : refused, code: \\d+  \n")
    return path


def test_there_is_a_row_for_every_pattern_in_a_message(file: Path) -> None:
    found = make_matcher(file)(messages("1234 ms, refused, code: 7", "12 ms", "9999 ms"))
    assert found.schema.names == [column.split()[0] for column in OUTPUT_SCHEMA.split(", ")]
    assert [(row["id"], row["pattern"]) for row in found.to_pylist()] == [(0, "slow"), (0, "refused"), (2, "slow")]
    assert found["message"][2].as_py() == "9999 ms"


def test_a_batch_without_a_match_has_the_same_columns(file: Path) -> None:
    match = make_matcher(file)
    assert match(messages()).schema == match(messages("nothing")).schema == match(messages("1234 ms")).schema


def test_to_try_more_patterns_than_there_are_finds_no_more(file: Path) -> None:
    batch = messages("1234 ms, refused, code: 7", "12 ms", "9999 ms")
    assert make_matcher(file, tried=7)(batch) == make_matcher(file)(batch)
    assert make_matcher(file, tried=1)(batch)["pattern"].to_pylist() == ["slow", "slow"]


def test_a_function_sent_to_a_worker_takes_no_patterns_along(file: Path) -> None:
    sent = pickle.dumps(make_matcher(file, tried=1000))
    assert len(sent) < 1000
    assert pickle.loads(sent)(messages("1234 ms"))["pattern"].to_pylist() == ["slow"]  # noqa: S301 - made just above


def test_a_number_of_patterns_below_one_is_refused(file: Path) -> None:
    with pytest.raises(ValueError, match="at least 1, not 0"):
        make_matcher(file, tried=0)


@given(st.lists(TEXT, max_size=3))
def test_shipped_patterns_find_what_a_plain_search_finds(texts: list[str]) -> None:
    found = make_matcher()(messages(*texts))
    plain = [(n, pattern.name) for n, text in enumerate(texts) for pattern in ALL if pattern.expression.search(text)]
    assert list(zip(found["id"].to_pylist(), found["pattern"].to_pylist(), strict=True)) == plain


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("good: a\n\nbad: (b\n", "line 3: bad is no regular expression: missing )"),
        ("# x\nno colon here\n", "line 2: expected `name: regular expression`, found 'no colon here'"),
        (": a\n", "line 1: expected"),
        ("name:\n", "line 1: expected"),
        ("same: a\nsame: b\n", "line 2: there is a pattern same already"),
        ("# nothing\n", "has no pattern"),
        ("", "has no pattern"),
    ],
)
def test_a_mistake_in_a_file_is_named_with_its_line(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "mine.txt"
    path.write_text(text)
    with pytest.raises(PatternError, match=f"^{re.escape(str(path))}.*{re.escape(complaint)}"):
        read_patterns(path)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(PatternError, match=r"none\.txt: cannot be read \(No such file or directory\)"):
        read_patterns(tmp_path / "none.txt")
    (tmp_path / "binary").write_bytes(b"a: b\n\xff")
    with pytest.raises(PatternError, match=r"binary: is not text in UTF-8 \(byte 6\)"):
        read_patterns(tmp_path / "binary")


@given(TEXT)
def test_any_text_is_patterns_or_a_complaint(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.mktemp("any") / "patterns.txt"
    path.write_text(text, encoding="utf-8", newline="")
    try:
        found = read_patterns(path)
    except PatternError as error:
        complaint = str(error)
    else:
        complaint = "" if found else "no pattern, and no complaint"
    assert complaint == "" or complaint.startswith(str(path))


def test_demand_per_tuple_is_the_median_time_over_the_tuples(file: Path) -> None:
    ticks = iter([t for took_s in (0.2, 0.1, 0.3, 9.0, 0.1) for t in (0.0, took_s)])
    found = calibrate(file, cpu_s=lambda: next(ticks))
    assert found.patterns == 2
    assert 0.2 / MESSAGES <= found.demand_s < 0.2 / (0.95 * MESSAGES)  # malformed lines are no tuples
    assert next(ticks, None) is None
    assert REPEATS == 5
