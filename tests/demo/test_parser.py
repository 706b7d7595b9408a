from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mead.demo.log_lines import LEVELS, format_line, log_lines
from mead.demo.parser import OUTPUT_SCHEMA, ROW, make_parser, parse, parse_line
from mead.demo.rejects import make_reject, reject

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
ZONES = st.integers(-23 * 60, 23 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
STAMPS = st.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1), timezones=ZONES)  # noqa: DTZ001 - the zone is drawn too
COMPONENTS = TEXT.map(lambda text: "".join(text.split()).replace("]", "")).filter(bool)
MESSAGES = TEXT.map(lambda text: text.replace("\n", " ").rstrip()).filter(bool)


def batch_of(lines: list[str | None]) -> pa.RecordBatch:
    numbers = pa.array(range(len(lines)), pa.int64())
    return pa.record_batch({"id": numbers, "arrival_us": numbers, "line": pa.array(lines, pa.string())})


@given(STAMPS, st.sampled_from(LEVELS), COMPONENTS, MESSAGES)
def test_the_parts_of_a_line_are_found_again(stamp: datetime, level: str, component: str, message: str) -> None:
    logged_us = np.datetime64(stamp.astimezone(UTC).replace(tzinfo=None), "us").astype(int)
    line = format_line(stamp.isoformat(), level, component, message)
    found = parse_line(line)
    assert found == (logged_us, level, component, message)
    assert parse_line(f"{line}\r\n") == found


@given(st.lists(st.none() | TEXT))
def test_no_text_whatever_is_an_error(lines: list[str | None]) -> None:
    batch = batch_of(lines)
    kept, dropped = parse(batch), reject(batch)
    assert kept.num_rows + dropped.num_rows == len(lines)
    assert kept.schema == ROW


@given(st.integers(0, 10**9), st.integers(0, 100))
def test_a_line_that_is_cut_off_before_its_message_is_dropped(number: int, length: int) -> None:
    line = log_lines(np.array([number]))["line"][0].as_py()
    assert parse_line(line[: min(length, line.find("] ") + 1)]) is None


@pytest.mark.parametrize(
    "line",
    [
        "2023-02-30T00:00:00Z INFO [auth] there is no such day",
        "2023-11-14T25:00:00Z INFO [auth] nor such an hour",
        "2023-11-14T22:13:20+24:00 INFO [auth] nor such a zone",
        "2023-11-14T22:13:20 INFO [auth] without a zone the time is not known",
        "٢٠٢٣-11-14T22:13:20Z INFO [auth] digits of another script",
        "2023-11-14T22:13:20Z LOUD [auth] no level of ours",
        "2023-11-14T22:13:20Z INFO auth no brackets",
        "2023-11-14T22:13:20Z INFO [auth] ",
        "2023-11-14T22:13:20Z INFO [auth] two\nlines",
        "",
        None,
    ],
)
def test_malformed_lines_are_dropped(line: str | None) -> None:
    assert parse(batch_of([line])).num_rows == 0
    assert reject(batch_of([line]))["line"].to_pylist() == [line]


def test_number_and_time_of_arrival_stay_with_their_line() -> None:
    good = "2023-11-14T22:13:20Z INFO [auth] fine"
    parts = parse(batch_of([good, "bad", good]))
    assert parts["id"].to_pylist() == parts["arrival_us"].to_pylist() == [0, 2]


def test_columns_are_those_of_the_schema_beside_the_function() -> None:
    assert [column.split()[0] for column in OUTPUT_SCHEMA.split(", ")] == ROW.names


def test_lines_may_be_in_another_column_as_brokers_have_them() -> None:
    lines = batch_of(log_lines(np.arange(2_000))["line"].to_pylist())
    values = lines.rename_columns(["id", "arrival_us", "value"]).append_column("key", lines["id"])
    assert 0 < parse(lines).num_rows < 2_000
    assert make_parser("value")(values).equals(parse(lines))
    assert make_reject("value")(values).equals(reject(lines))
    assert make_parser()(lines).equals(parse(lines))
