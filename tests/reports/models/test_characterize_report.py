"""What `mead characterize` says, without Spark: the document, the tables and the picture."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from mead.arrays import FloatArray
from mead.queueing import MAP, Characteristics, Frame, Partial
from mead.reports.models.characterize_report import CharacterizeReport
from mead.reports.models.plots import draw_characteristics, plot_characteristics

LITTLE = [np.zeros(5), np.array([1.0]), np.array([1.0, 3.0]), np.full(500, 0.1)]


def characteristics(iats_s: FloatArray) -> Characteristics:
    frame = Frame(iats_s.size, float(iats_s.sum()))
    ages_s = np.maximum(frame.end_s - np.cumsum(iats_s), 0.0)
    return Characteristics.of(frame, Partial.of(frame, iats_s, ages_s, np.zeros(0)))


@pytest.fixture(scope="module")
def bursty() -> Characteristics:
    return characteristics(MAP.two_state(100.0, idc=50.0).sample(60_000, np.random.default_rng(1)))


def printed(found: Characteristics) -> str:
    console = Console(width=80, record=True, file=StringIO())
    for part in CharacterizeReport(found).tables():
        console.print(part)
    return console.export_text()


def test_document_has_the_names_of_the_contract(bursty: Characteristics) -> None:
    document = CharacterizeReport(bursty).as_json()
    assert list(document)[:7] == ["events", "duration_s", "rate_per_s", "scv", "acf", "idc", "hurst"]
    assert document["acf"]["10"] == bursty.acf[10]
    assert document["idc"]["0.5"] == bursty.idc[0.5]
    assert bursty.hurst is not None
    assert document["hurst_scales_s"] == [bursty.hurst.shortest_s, bursty.hurst.longest_s]
    assert document["reasons"] == {}


@pytest.mark.parametrize("iats_s", LITTLE)
def test_what_has_no_value_is_null_and_has_a_reason(iats_s: FloatArray) -> None:
    found = characteristics(iats_s)
    document = json.loads(json.dumps(CharacterizeReport(found).as_json(), allow_nan=False))
    missing = {name for name in ("rate_per_s", "scv", "hurst") if document[name] is None}
    missing |= {name for name in ("acf", "idc") if not document[name] or None in document[name].values()}
    assert missing == set(document["reasons"])
    assert all(reason in " ".join(printed(found).split()) for reason in document["reasons"].values())


def test_tables_fit_a_terminal(bursty: Characteristics) -> None:
    text = printed(bursty)
    assert max(map(len, text.splitlines())) <= 80
    assert text.startswith("60,001 arrivals in ")
    for word in ("rate", "squared coefficient of variation", "Hurst parameter", "autocorrelation", "5,000"):
        assert word in text


def test_curves_are_the_numbers(bursty: Characteristics) -> None:
    curves = [
        {line.get_label(): np.asarray(line.get_ydata()).tolist() for line in axes.get_lines()}
        for axes in draw_characteristics(bursty).axes
    ]
    assert curves[0]["trace"] == list(bursty.acf.values())
    assert curves[1]["trace"] == list(bursty.idc.values())


@pytest.mark.parametrize("ending", [".png", ".svg"])
@pytest.mark.parametrize("iats_s", LITTLE)
def test_little_data_is_drawn_too(iats_s: FloatArray, ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"trace{ending}"
    plot_characteristics(characteristics(iats_s), path)
    assert path.read_bytes().startswith({".png": b"\x89PNG", ".svg": b"<?xml"}[ending])
