"""``mead fit`` as people and scripts meet it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli.program import Word, answer, complaint, run

from mead.queueing import MAP


@pytest.fixture(scope="module")
def bursty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("traces") / "bursty.npy"
    np.save(path, np.cumsum(MAP.two_state(100.0, idc=50.0).sample(6_000, np.random.default_rng(1))))
    return path


@pytest.fixture(scope="module")
def shuffled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("traces") / "shuffled.csv"
    path.write_text("when_s,size\n" + "".join(f"{(7 * i) % 100}.5,9\n" for i in range(100)))
    return path


def test_fit_answers_for_every_window_in_order(bursty: Path) -> None:
    document = answer("fit", bursty, "--window", "5000", "--window", "2000", "--best", "2")
    assert [window["size"] for window in document["windows"]] == [5000, 2000]
    for window in document["windows"]:
        assert 1 <= len(window["maps"]) <= 2
        assert window["seconds"] > 0
        best = MAP(window["maps"][0]["D0"], window["maps"][0]["D1"])
        fitted_to = window["trace_used"] or window["trace"]  # a jump of the rate cuts the shorter window
        assert best.rate_per_s == pytest.approx(fitted_to["rate_per_s"], rel=1e-3)


def test_one_window_option_takes_several_sizes(bursty: Path) -> None:
    orders: list[list[Word]] = [["--window", "2000", "300", bursty], [bursty, "--window", "2000", "300", "--best", "1"]]
    for words in orders:
        assert [window["size"] for window in answer("fit", *words)["windows"]] == [2000, 300]


def test_default_windows_use_what_is_there(bursty: Path) -> None:
    windows = answer("fit", bursty, "--best", "1")["windows"]
    assert [window["size"] for window in windows] == [5999]
    assert "only 5999 of the 50000" in windows[0]["note"]


def test_same_seed_gives_the_same_fit(bursty: Path) -> None:
    def fitted(seed: str, fitter: str) -> Any:
        (window,) = answer("fit", bursty, "--window", "1000", "--seed", seed, "--fitter", fitter)["windows"]
        return window["maps"]

    for fitter in ("calibrated", "kpc"):
        assert fitted("1", fitter) == fitted("1", fitter) != fitted("2", fitter)


def test_fit_reads_iats_columns_and_units(tmp_path: Path) -> None:
    path = tmp_path / "gaps.csv"
    path.write_text("size,gap\n" + "9,250\n" * 300)
    words: list[Word] = ["fit", path, "--iat", "--column", "gap", "--unit", "ms", "--window", "300"]
    assert answer(*words)["windows"][0]["trace"]["rate_per_s"] == pytest.approx(4.0)


def test_fit_sorts_on_request(shuffled: Path) -> None:
    words: list[Word] = ["fit", shuffled, "--column", "when_s", "--window", "99"]
    assert complaint(*words).startswith(f"mead fit: {shuffled}: row 16: time stamp 5.5 s is before the one above it")
    assert answer(*words, "--sort")["windows"][0]["trace"]["rate_per_s"] == pytest.approx(1.0)


def test_fit_table_fits_a_terminal(bursty: Path) -> None:
    result = run("fit", bursty, "--window", "5000", "300", "100")
    assert result.exit_code == 0
    assert max(len(line) for line in result.stdout.splitlines()) <= 80
    assert "The last 5,000 IATs" in result.stdout
    assert "bursts(" in result.stdout
    assert "Response time in ms" in result.stdout
    assert "too few to see burstiness" in result.stdout


def test_too_little_data_is_an_answer(tmp_path: Path) -> None:
    path = tmp_path / "same.csv"
    path.write_text("3.0\n3.0\n")
    assert run("fit", path).stdout.startswith("The last IAT, 0 s")
    path.write_text("3.0\n3.0\n3.0\n")
    (window,) = answer("fit", path)["windows"]
    assert window["maps"] == []
    assert window["fitted"] is None
    assert "nothing to fit" in window["note"]
    assert "nothing to fit" in run("fit", path).stdout


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "there is no such file"),
        ("", "no arrivals; the file is empty"),
        ("timestamp_s\n", "no arrivals; the file has a header and nothing else"),
        ("1.0\n", "only one arrival; a trace needs at least two"),
        ("1.0\nnan\n2.0\n", "row 2: time stamp is nan"),
        ("1.0\nlater\n2.0\n", "row 2: 'later' is not a number"),
        ("1.0\n-2.0\n", "row 2: time stamp -2.0 s is negative"),
        ("1.0\n\x00\x01\n", "this is not text"),
        (
            "1700000000000\n1700000000250\n",
            "row 1: time stamp 1.7e+12 s is too far away; check the unit of the file (--unit)",
        ),
    ],
)
def test_fit_names_what_is_wrong_with_a_trace(text: str | None, said: str, tmp_path: Path) -> None:
    path = tmp_path / "arrivals.csv"
    if text is not None:
        path.write_text(text)
    for mode in ([], ["--json"]):
        assert complaint("fit", path, *mode).startswith(f"mead fit: {path}: {said}")


def test_fit_checks_the_plot_before_the_work(bursty: Path, tmp_path: Path) -> None:
    assert "must end in one of .png, .pdf, .svg" in complaint("fit", bursty, "--plot", tmp_path / "fit.doc")
    assert "there is no folder" in complaint("fit", bursty, "--plot", tmp_path / "none/fit.png")
    (tmp_path / "folder.png").mkdir()
    assert "is a folder" in complaint("fit", bursty, "--plot", tmp_path / "folder.png")
    if Path("/proc").is_dir():  # a folder in which nobody can make a file, not even root
        assert complaint("fit", "no-such.npy", "--plot", "/proc/fit.png").startswith(
            "mead fit: /proc/fit.png: cannot be written"
        )


def test_a_plot_that_fails_after_all_is_a_complaint(bursty: Path, tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    (tmp_path / "fit.png").symlink_to("/dev/full")
    words: list[Word] = ["fit", bursty, "--window", "300", "--plot", tmp_path / "fit.png"]
    assert complaint(*words).endswith("fit.png: cannot be written (No space left on device)")


def test_fit_draws_and_still_prints_json(bursty: Path, tmp_path: Path) -> None:
    picture = tmp_path / "fit.png"
    assert answer("fit", bursty, "--window", "1000", "--plot", picture)["windows"]
    assert picture.read_bytes().startswith(b"\x89PNG")
