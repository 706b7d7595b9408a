"""``mead characterize`` as people and scripts meet it. The job itself is tested in tests/spark."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.cli.program import answer, complaint, started

from mead.queueing import MAP, acf, idc, scv


@pytest.fixture(scope="module")
def stamps_us() -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    iats_s = MAP.two_state(100.0, idc=50.0).sample(6_000, np.random.default_rng(1))
    return np.rint(np.cumsum(iats_s) * 1e6).astype(np.int64)


@pytest.mark.usefixtures("spark")
def test_one_document_and_nothing_else(stamps_us: np.ndarray[tuple[int], np.dtype[np.int64]], tmp_path: Path) -> None:
    path, picture = tmp_path / "t.npy", tmp_path / "t.png"
    np.save(path, np.random.default_rng(1).permutation(stamps_us))
    document = answer("characterize", path, "--sort", "--plot", picture)
    iats_s = np.diff(stamps_us) / 1e6
    assert document["events"] == 6_000
    assert document["scv"] == pytest.approx(scv(iats_s), rel=1e-9)
    assert document["acf"]["20"] == pytest.approx(acf(iats_s, [20])[0], rel=1e-9)
    assert document["idc"]["0.5"] == pytest.approx(idc(iats_s, [0.5])[0], rel=1e-9)
    assert document["hurst_method"].startswith("wavelet")
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.usefixtures("spark")
def test_out_of_order_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("timestamp_s\n0.5\n2.0\n1.5\n")
    assert complaint("characterize", path) == (
        f"mead characterize: {path}: row 3: time stamp 1.5 s is before the one above it (2.0 s); "
        "use --sort to put them in order, or --iat if these are inter-arrival times"
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "there is no such file"),
        ("", "no arrivals; the file is empty"),
        ("timestamp_s\n", "no arrivals; the file has a header and nothing else"),
        ("a,b\n1,2\n", "which column holds the time stamps? the file has a, b; name one with --column"),
    ],
)
def test_what_is_wrong_at_first_sight_needs_no_spark(text: str | None, said: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    if text is not None:
        path.write_text(text)
    assert complaint("characterize", path) == f"mead characterize: {path}: {said}"


def test_options_are_checked_before_the_work(tmp_path: Path) -> None:
    path = tmp_path / "t.npy"
    np.save(path, np.arange(10))
    assert "must end in one of .png, .pdf, .svg" in complaint("characterize", path, "--plot", tmp_path / "t.doc")
    assert "there is no such folder" in complaint("characterize", path, "--scratch", tmp_path / "none")


def test_without_java_there_is_a_way_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    np.save(tmp_path / "t.npy", np.arange(10))
    assert "`mead doctor` says what to install" in complaint("characterize", tmp_path / "t.npy")


def test_a_spark_that_does_not_start_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java = tmp_path / "bin/java"
    java.parent.mkdir()
    java.write_text(
        '#!/bin/sh\n[ "$1" = -version ] && { echo \'version "17.0.1"\' >&2; exit; }\necho broken >&2\nexit 1\n'
    )
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    np.save(tmp_path / "t.npy", np.arange(10))
    run = started("characterize", str(tmp_path / "t.npy"))
    assert (run.returncode, run.stdout) == (2, b"")
    assert run.stderr == b"mead characterize: Spark did not start: broken; see `mead doctor`\n"
