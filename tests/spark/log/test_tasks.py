from __future__ import annotations

from pathlib import Path
from threading import Thread

import pytest

from mead.spark.log.tasks import read_number, write_number


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
