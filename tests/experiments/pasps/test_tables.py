"""The shape of the PA-SPS paper's tables, on the first ten minutes, with the predictors that are quick."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from experiments.pasps.metrics import Metrics
from experiments.pasps.report import TableResult, table_parts
from experiments.pasps.run import system_run
from experiments.pasps.scenarios import LOGS, SMOOTH, SPIKES, RatesError, logs_from
from experiments.pasps.tables import EXPERIMENTS, PAPERS, TABLE_3, chosen_tables
from rich.console import Console
from tests.paths import DATA

from mead.keys import ConfigError

AUTHORS_RATES = DATA / "pasps-log-rates.csv"


@pytest.fixture(scope="module")
def smooth() -> dict[str, Metrics]:
    systems = ["ann-repo", "lr", "fft", "basic", "auto", "conformal"]
    named = [f"pasps@predictor={name}" for name in systems]
    return {
        system: system_run(SMOOTH, system, 1, 600).metrics
        for system in [*named, "psps", "dabs", "dabs@loses=false", *(f"static@replicas={n}" for n in (1, 4, 8))]
    }


def test_one_replica_collapses(smooth: dict[str, Metrics]) -> None:
    assert smooth["static@replicas=1"].processed < 0.5
    assert smooth["static@replicas=1"].latency_ms > 50_000
    assert smooth["static@replicas=1"].saved == pytest.approx(0.875)


def test_eight_replicas_are_the_fastest_and_save_nothing(smooth: dict[str, Metrics]) -> None:
    eight = smooth["static@replicas=8"]
    assert eight.latency_ms == min(metrics.latency_ms for metrics in smooth.values())
    assert (eight.saved, eight.processed) == pytest.approx((0.0, 1.0), abs=1e-3)


def test_adaptive_systems_process_all_with_half_of_the_replicas(smooth: dict[str, Metrics]) -> None:
    for system in ("ann-repo", "lr", "fft", "basic", "auto"):
        metrics = smooth[f"pasps@predictor={system}"]
        assert metrics.processed > 0.99
        assert 0.4 <= metrics.saved <= 0.7


def test_a_smaller_input_error_does_not_mean_a_lower_latency(smooth: dict[str, Metrics]) -> None:
    network, fourier = smooth["pasps@predictor=ann-repo"], smooth["pasps@predictor=fft"]
    assert network.input_error is not None
    assert fourier.input_error is not None
    assert fourier.input_error < network.input_error
    assert fourier.latency_ms > network.latency_ms


def test_who_foresees_too_much_trades_replicas_for_latency(smooth: dict[str, Metrics]) -> None:
    upper, plain = smooth["pasps@predictor=conformal"], smooth["pasps@predictor=basic"]
    assert upper.saved < plain.saved
    assert upper.latency_ms < 0.2 * plain.latency_ms


def test_a_system_that_restarts_loses_events_or_makes_them_wait(smooth: dict[str, Metrics]) -> None:
    assert smooth["dabs"].processed < 0.9
    assert smooth["dabs@loses=false"].latency_ms > 3 * smooth["pasps@predictor=lr"].latency_ms


def test_psps_is_pa_sps_with_the_last_interval_as_forecast(smooth: dict[str, Metrics]) -> None:
    assert smooth["psps"] == smooth["pasps@predictor=basic"]


def test_trends_mislead_where_there_are_none() -> None:
    """Table 8 on the rates of the authors: FFT has the largest error and the highest latency, Basic far less."""
    if not AUTHORS_RATES.exists():
        pytest.skip(f"{AUTHORS_RATES.name} is not there: it is no part of the program")
    logs = logs_from(AUTHORS_RATES)
    fft, basic = (system_run(logs, f"pasps@predictor={name}", 1, 600).metrics for name in ("fft", "basic"))
    assert fft.input_error is not None
    assert basic.input_error is not None
    assert fft.input_error > 3 * basic.input_error
    assert fft.latency_ms > basic.latency_ms


def test_spikes_are_within_what_the_pool_can_do() -> None:
    metrics = system_run(SPIKES, "pasps@predictor=rf", 1, 300).metrics
    assert metrics.processed > 0.9
    assert SPIKES.r_over == 12


def test_every_table_names_the_papers_rows_and_can_be_asked_what_the_paper_says() -> None:
    for tables in EXPERIMENTS.values():
        for table in tables:
            assert set(table.published) <= set(table.systems)
            said = {system: table.published.get(system, Metrics(0.5, 0.1, 1.0, 100.0, 0.3)) for system in table.systems}
            assert table.claims(said)


def test_what_the_paper_says_is_true_of_the_papers_own_numbers() -> None:
    """So that a claim which is false of our runs is a difference, and not a misreading."""
    wrong = {
        (table.title, claim.text)
        for tables in EXPERIMENTS.values()
        for table in tables
        for claim in table.claims(table.published)
        if not claim.holds
    }
    assert wrong == set()


def test_a_result_is_shown_with_the_paper_beside_it() -> None:
    rows = {system: TABLE_3.published[system] for system in TABLE_3.systems}
    result = TableResult(TABLE_3, rows, 1)
    console = Console(file=StringIO(), width=100)
    for part in table_parts(result):
        console.print(part)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert text.count("paper") == 4
    assert "holds: one replica collapses" in text
    document = json.loads(json.dumps(result.as_json()))
    assert [row["paper"]["saved"] for row in document["rows"]] == [0.475, 0.875, 0.5, 0.0]


def test_other_rows_and_rates_may_be_given(tmp_path: Path) -> None:
    file = tmp_path / "rates.csv"
    file.write_text("time,value\n0,10\n1,20.5\n")
    tables = chosen_tables("pasps-datasets", ["psps"], file)
    assert [table.systems for table in tables] == [("psps",)] * 3
    assert tables[2].scenario.pipeline is LOGS
    assert tables[2].scenario.rates_per_s(np.random.default_rng(1)).tolist() == [10.0, 20.5]
    with pytest.raises(ConfigError, match="there is no policy 'pspss'"):
        chosen_tables("pasps-models", ["pspss"], None)
    assert chosen_tables("pasps-models", [], None)[0].systems[:5] == PAPERS


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("time,rate\n0,1\n", "needs a column `value`"),
        ("time,value\n0,-1\n1,2\n", "holds no rates"),
        (None, "cannot be read"),
    ],
)
def test_a_file_that_holds_no_rates_is_refused(tmp_path: Path, text: str | None, complaint: str) -> None:
    file = tmp_path / "rates.csv"
    if text is not None:
        file.write_text(text)
    with pytest.raises(RatesError, match=complaint):
        logs_from(file)
