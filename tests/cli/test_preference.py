"""mead preference."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from tests.cli.program import answer, complaint
from tests.preference.spark import oracle
from tests.preference.spark.oracle import Tuple

from mead.spark.pipeline.folder_lock import lock_folder

WINDOW_MS, SLIDE_MS = 400, 200


def offers(folder: Path) -> list[Tuple]:
    """One file of comma-separated values; its event times are microseconds."""
    rng = np.random.default_rng(5)
    seen_us = 1_750_000_000_000_000 + np.sort(rng.integers(0, 2_000_000, 300))
    price, stars = rng.integers(20, 90, 300), rng.integers(1, 6, 300)
    rows = zip(seen_us.tolist(), price.tolist(), stars.tolist(), strict=True)
    folder.mkdir()
    (folder / "offers.csv").write_text("seen,price,stars\n" + "".join(f"{s},{p},{n}\n" for s, p, n in rows))
    return [
        Tuple(seen, seen, (float(price), -float(stars)))
        for seen, price, stars in zip(seen_us.tolist(), price.tolist(), stars.tolist(), strict=True)
    ]


@pytest.mark.usefixtures("spark")
def test_a_folder_is_answered_window_by_window(tmp_path: Path) -> None:
    stream, out = offers(tmp_path / "offers"), tmp_path / "best"
    words = ["--event-time", "seen", "--minimise", "price", "--maximise", "stars"]
    lengths = ["--window", f"{WINDOW_MS} ms", "--slide", f"{SLIDE_MS} ms"]
    document = answer("preference", tmp_path / "offers", *words, *lengths, "--out", out)
    origin_us, inside = oracle.admitted([stream], 1000 * SLIDE_MS)
    expected = dict(oracle.windows_of(inside, origin_us, 1000 * WINDOW_MS, 1000 * SLIDE_MS, 1000 * SLIDE_MS))
    best = {window: oracle.skyline_of(rows) for window, rows in expected.items()}
    assert {one["window"]: one["size"] for one in document["windows"]} == {w: len(rows) for w, rows in best.items()}
    assert (document["tuples"], document["dropped"], document["rejected"]) == (300, 0, 0)
    rows = pq.read_table(out).to_pylist()
    for window, values in best.items():
        assert sorted((float(r["price"]), -float(r["stars"])) for r in rows if r["window"] == window) == values


@pytest.mark.usefixtures("spark")
def test_a_relation_from_a_module_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One offer is better than another if it is cheaper by ten or more, whatever its stars."""
    stream = offers(tmp_path / "offers")
    (tmp_path / "by_price.py").write_text("def dominates(a, b):\n    return a[0] + 10 <= b[0]\n")
    monkeypatch.chdir(tmp_path)
    words = ["--event-time", "seen", "--compare", "price", "--compare", "stars", "--dominates", "by_price:dominates"]
    lengths = ["--window", f"{WINDOW_MS} ms", "--slide", f"{SLIDE_MS} ms"]
    document = answer("preference", tmp_path / "offers", *words, *lengths)
    origin_us, inside = oracle.admitted([stream], 1000 * SLIDE_MS)
    expected = oracle.windows_of(inside, origin_us, 1000 * WINDOW_MS, 1000 * SLIDE_MS, 1000 * SLIDE_MS)
    sizes = {w: sum(row[0] < min(other[0] for other in rows) + 10 for row in rows) for w, rows in expected}
    assert {one["window"]: one["size"] for one in document["windows"]} == sizes


@pytest.mark.usefixtures("spark")
def test_wrong_time_stamps_are_set_aside_counted_and_shown(tmp_path: Path) -> None:
    """Nanoseconds for microseconds, an hour ahead, and nothing: in the first of two micro-batches."""
    stream = offers(tmp_path / "offers")
    file = tmp_path / "offers/offers.csv"
    header, *lines = file.read_text().splitlines()
    seen_us = stream[0].event_us
    wrong = [f"{seen},1,5" for seen in (1000 * seen_us, seen_us + 3_600_000_000, 0)]
    for name, some, read in (("a", [*lines[:150], *wrong], 1), ("b", lines[150:], 2)):
        (tmp_path / f"offers/{name}.csv").write_text("\n".join([header, *some]) + "\n")
        os.utime(tmp_path / f"offers/{name}.csv", (read, read))
    file.unlink()
    words = ["--event-time", "seen", "--minimise", "price", "--maximise", "stars", "--files", "1"]
    lengths = ["--window", f"{WINDOW_MS} ms", "--slide", f"{SLIDE_MS} ms"]
    document = answer("preference", tmp_path / "offers", *words, *lengths, "--folder", tmp_path / "state")
    origin_us, inside = oracle.admitted([stream], 1000 * SLIDE_MS)
    expected = oracle.windows_of(inside, origin_us, 1000 * WINDOW_MS, 1000 * SLIDE_MS, 1000 * SLIDE_MS)
    sizes = {window: len(oracle.skyline_of(rows)) for window, rows in expected}
    assert {one["window"]: one["size"] for one in document["windows"]} == sizes
    assert (document["tuples"], document["far"], document["dropped"]) == (303, 2, 1)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["offers", "--minimise", "price"], "name the column of the event time with --event-time"),
        (["--minimise", "price"], "these options need a FOLDER to read"),
        (["--window", "soon"], "--window: write a length such as '500 ms' or '2 seconds'; got 'soon'"),
        (["--slack", "5 parsecs"], "--slack: write a length such as '500 ms' or '2 seconds'; got '5 parsecs'"),
        (["--profile", "hope"], "'hope' is not one of 'code', 'paper'"),
    ],
)
def test_what_is_wrong_at_first_sight_needs_no_spark(words: list[str], said: str) -> None:
    assert said in complaint("preference", *words)


def test_a_folder_has_files_of_one_format(tmp_path: Path) -> None:
    """With the schema of one kind and the rows of another, columns would be mistaken for each other."""
    words = ("--event-time", "seen", "--minimise", "price")
    missing, mixed = tmp_path / "missing", tmp_path / "mixed"
    offers(mixed)
    (mixed / "_written.json").write_text("{}")  # files with such names are not seen by Spark
    (mixed / "more.parquet").touch()
    assert "has files that end in .csv and in .parquet; leave one kind in it" in complaint("preference", mixed, *words)
    assert "does not exist; name a folder with files that end in .parquet" in complaint("preference", missing, *words)
    (mixed / "notes.txt").touch()
    assert "must end in one of .parquet, .csv" in complaint("preference", mixed / "notes.txt", *words)


def test_a_folder_that_another_command_has_is_refused(tmp_path: Path) -> None:
    with lock_folder(tmp_path / "state"):
        said = complaint("preference", "--folder", tmp_path / "state")
    assert "another run uses this folder" in said
    assert not (tmp_path / "state/points").exists(), "nothing of the other was touched"
