from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from threading import Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mead.spark.log.store import LogError
from mead.spark.log.tasks import TIMES, count_rows, divide_rows, read_number, read_tasks, write_number, write_times


def by_algorithm_1(rows: int, times: list[Fraction]) -> list[int]:
    """Row by row, as the paper has it: equation 1 for an interval that is never full, and the first of equal loads."""
    loads, counts = [Fraction(0)] * len(times), [0] * len(times)
    for _ in range(rows):
        least = loads.index(min(loads))
        counts[least] += 1
        loads[least] += times[least]
    return counts


@given(st.integers(0, 400), st.lists(st.integers(1, 1000), min_size=1, max_size=8))
def test_rows_are_counted_as_algorithm_1_gives_them_one_by_one(rows: int, milliseconds: list[int]) -> None:
    times = [Fraction(ms, 1024) for ms in milliseconds]  # floating point has these exactly
    assert count_rows(rows, [float(time) for time in times]) == by_algorithm_1(rows, times)


@given(st.integers(0, 10**9), st.integers(0, 10**6), st.lists(st.floats(1e-7, 1e3), min_size=1, max_size=16))
def test_parts_by_execution_time_hold_every_row_once(first: int, rows: int, times_s: list[float]) -> None:
    parts = divide_rows(first, first + rows, sorted(times_s))
    assert [a for a, _ in parts] == [first, *(b for _, b in parts)][: len(parts)]
    assert (parts[-1][1] if parts else first) == first + rows
    sizes = [b - a for a, b in parts]
    assert sizes == sorted(sizes, reverse=True), "the fastest first, so that only the slowest are left out"
    assert len(parts) == min(rows, len(times_s)), "the first row of each costs nothing"


def test_execution_times_are_read_as_they_were_written(tmp_path: Path) -> None:
    times_s = [0.1 + 0.2, 1e-9, 3.0]
    write_times(tmp_path / f"tasks{TIMES}", times_s)
    assert read_tasks(tmp_path / f"tasks{TIMES}") == times_s
    write_number(tmp_path / "tasks", 3)
    assert read_tasks(tmp_path / "tasks") == 3
    (tmp_path / f"bad{TIMES}").write_text("soon")
    with pytest.raises(LogError, match="must hold execution times"):
        read_tasks(tmp_path / f"bad{TIMES}")


def test_the_last_number_counts_and_nothing_else_is_left(tmp_path: Path) -> None:
    for number in (7, 12):
        write_number(tmp_path / "number", number)
    assert read_number(tmp_path / "number") == 12
    assert [path.name for path in tmp_path.iterdir()] == ["number"]


def test_a_missing_file_is_an_error_unless_it_means_a_number(tmp_path: Path) -> None:
    assert read_number(tmp_path / "none", missing=0) == 0
    with pytest.raises(FileNotFoundError, match="none"):
        read_number(tmp_path / "none")


def test_a_reader_never_sees_a_part_of_a_number(tmp_path: Path) -> None:
    numbers = (1, 10**3000)
    write_number(tmp_path / "number", numbers[0])

    def write() -> None:
        for number in numbers * 100:
            write_number(tmp_path / "number", number)

    writer = Thread(target=write)
    writer.start()
    seen = set()
    while writer.is_alive():
        seen.add(read_number(tmp_path / "number"))
    writer.join()
    assert seen <= set(numbers)
