"""The PA-SPS paper's tables, on the first ten minutes, with the predictors that are quick."""

from __future__ import annotations

import json
import re
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from experiments.pasps.metrics import CLUSTER_CORES, THREAD_CORES, Metrics
from experiments.pasps.plot import plot_table
from experiments.pasps.report import TableResult, table_parts
from experiments.pasps.run import GROUPINGS, QUEUE_SIZE, TIMEOUT_S, SystemRun, system_run
from experiments.pasps.scenarios import LOGS, SENDING_S, SMOOTH, SPIKES, TWITTER, RatesError, Scenario, chain, logs_from
from experiments.pasps.tables import EXPERIMENTS, PAPERS, TABLE_3, chosen_tables
from rich.console import Console
from tests.paths import DATA, ROOT

from mead.keys import ConfigError

pytestmark = pytest.mark.slow

TABLES = [table for tables in EXPERIMENTS.values() for table in tables]
AUTHORS_RATES = DATA / "pasps-log-rates.csv"


@pytest.fixture(scope="module")
def smooth() -> dict[str, SystemRun]:
    named = [f"pasps@predictor={name}" for name in ("lr", "fft", "fft-flat", "basic", "conformal")]
    statics = [f"static@replicas={n}" for n in (1, 4, 8)]
    return {
        system: system_run(SMOOTH, system, 1, 600) for system in [*named, "psps", "dabs", "dabs@loses=false", *statics]
    }


def metrics_of(smooth: dict[str, SystemRun], name: str) -> Metrics:
    return smooth[name if name in smooth else f"pasps@predictor={name}"].metrics


def test_a_second_sends_all_its_tuples_at_once() -> None:
    """As the source of the authors' application does; the wait of the last one is that of the second's work."""
    trace = SMOOTH.trace(1, 60)
    seconds, counts = np.unique(np.floor(trace.times_s), return_counts=True)
    assert seconds.tolist() == list(range(60))
    assert counts == pytest.approx(SMOOTH.rates_per_s(np.random.default_rng(1))[:60], abs=0.5)
    assert (trace.times_s - np.floor(trace.times_s)).max() < 0.03


def test_four_and_eight_replicas_take_as_long_as_in_table_3() -> None:
    """And as a formula says: in a burst of n, the tuples leave the slowest operator r at a time, d apart.

    A tuple waits for those before it there, is served by all four, and the mean is over all tuples.
    """
    demands_s = [operator.demand_s for operator in TWITTER.operators]
    bursts = np.unique(np.floor(SMOOTH.trace(1).times_s), return_counts=True)[1]
    for replicas, published_ms in ((4, 269.75), (8, 153.51)):
        metrics = system_run(SMOOTH, f"static@replicas={replicas}", 1).metrics
        before = np.concatenate([np.arange(burst) for burst in bursts])
        waits_s = max(demands_s) * (before // replicas) - SENDING_S * before
        assert metrics.latency_ms == pytest.approx(1000 * (waits_s.mean() + sum(demands_s)), rel=0.01)
        assert metrics.latency_ms == pytest.approx(published_ms, rel=0.15)
        assert metrics.processed > 0.98


def test_one_replica_collapses_and_its_full_queue_bounds_the_wait(smooth: dict[str, SystemRun]) -> None:
    one = smooth["static@replicas=1"]
    assert one.metrics.processed < 0.7
    assert one.metrics.latency_ms > 50_000
    assert one.metrics.saved == pytest.approx(0.875)
    assert one.intervals.latency_s.max() < 1.1 * QUEUE_SIZE * max(o.demand_s for o in TWITTER.operators)
    assert one.counters.timed_out == 0  # the authors' fixed application knows no time-out


def test_eight_replicas_are_the_fastest_and_save_nothing(smooth: dict[str, SystemRun]) -> None:
    eight = smooth["static@replicas=8"].metrics
    assert eight.latency_ms == min(one.metrics.latency_ms for one in smooth.values())
    assert (eight.saved, eight.processed) == pytest.approx((0.0, 1.0), abs=1e-3)


def test_no_tuple_of_pa_sps_is_taken_after_the_time_out(smooth: dict[str, SystemRun]) -> None:
    for system in ("lr", "fft", "basic"):
        run = smooth[f"pasps@predictor={system}"]
        assert run.metrics.processed > 0.98
        assert np.nanmax(run.intervals.latency_s) < TIMEOUT_S + sum(o.demand_s for o in TWITTER.operators)


def test_who_foresees_too_much_trades_replicas_for_latency(smooth: dict[str, SystemRun]) -> None:
    upper, plain = metrics_of(smooth, "conformal"), metrics_of(smooth, "basic")
    assert upper.saved < plain.saved
    assert upper.latency_ms < 0.5 * plain.latency_ms


def test_a_system_that_restarts_loses_events_or_makes_them_wait(smooth: dict[str, SystemRun]) -> None:
    assert metrics_of(smooth, "dabs").processed < 0.9
    assert metrics_of(smooth, "dabs@loses=false").latency_ms > 3 * metrics_of(smooth, "lr").latency_ms


def test_psps_is_pa_sps_with_the_last_interval_as_forecast(smooth: dict[str, SystemRun]) -> None:
    assert smooth["psps"].metrics == smooth["pasps@predictor=basic"].metrics


def test_without_a_trend_fft_repeats_the_window(smooth: dict[str, SystemRun]) -> None:
    """The last minute again: on hills this is worse than the cubic of the authors' program."""
    cubic, flat = metrics_of(smooth, "fft").input_error, metrics_of(smooth, "fft-flat").input_error
    assert cubic is not None
    assert flat is not None
    assert flat > 2 * cubic


def test_algorithm_1_is_slow_if_loads_are_measured_every_30_s() -> None:
    """A replica that was idle gets everything until its load, counted up, is that of the others."""
    latency_ms = {name: system_run(SMOOTH, "pasps@predictor=lr", 1, 300, name).metrics.latency_ms for name in GROUPINGS}
    assert latency_ms["shared"] <= latency_ms["storm"] < 1.1 * latency_ms["shared"]
    assert latency_ms["load_aware"] < 1.5 * latency_ms["storm"]
    assert latency_ms["load_aware_30s"] > 2 * latency_ms["storm"]


def test_cpu_consumption_is_work_and_threads() -> None:
    """Two operators of 10 and 20 ms at 10/s are busy for .3 cores; eight replicas take .8 more."""
    pipeline = chain("two", 4, first=0.010, second=0.020)
    steady = Scenario("steady", "steady", pipeline, lambda _: np.full(120, 10.0))
    found = system_run(steady, "static@replicas=4", 1, 120).metrics.cpu_percent
    assert found == pytest.approx(100 * (0.3 + 8 * THREAD_CORES) / CLUSTER_CORES, rel=0.02)


def test_trends_mislead_where_there_are_none() -> None:
    """Table 8 on the rates of the authors: FFT has by far the largest error."""
    if not AUTHORS_RATES.exists():
        pytest.skip(f"{AUTHORS_RATES.name} is not there: it is no part of the program")
    logs = logs_from(AUTHORS_RATES)
    fft, basic = (system_run(logs, f"pasps@predictor={name}", 1, 600).metrics for name in ("fft", "basic"))
    assert fft.input_error is not None
    assert basic.input_error is not None
    assert fft.input_error > 3 * basic.input_error


def test_spikes_are_within_what_the_pool_can_do() -> None:
    metrics = system_run(SPIKES, "pasps@predictor=rf", 1, 300).metrics
    assert metrics.processed > 0.9
    assert SPIKES.r_over == 12


def test_every_table_names_the_papers_rows_and_can_be_asked_what_the_paper_says() -> None:
    for table in TABLES:
        assert set(table.published) <= set(table.systems)
        said = {system: table.published.get(system, Metrics(0.5, 0.1, 1.0, 100.0, 0.3)) for system in table.systems}
        assert table.claims(said)


def test_every_headline_of_the_paper_is_a_claim() -> None:
    headlines = {
        "Table 2": "ANN has the lowest latency",
        "Table 3": "four replicas take 1.5 to 2 times as long as eight",
        "Table 4": "PSPS is more than three times slower than PA-SPS",
        "Table 5": "PA-SPS takes two thirds of the CPU or less",
        "Table 6": "the latencies of ANN and Basic are less than 1 % apart",
        "Table 7": "FFT has the lowest latency",
        "Table 8": "Basic has the lowest latency",
    }
    for table in TABLES:
        assert headlines[table.title[:7]] in {claim.text for claim in table.claims(table.published)}


def test_the_page_of_results_says_of_every_claim_whether_it_holds() -> None:
    listed = claims_on_page()
    for table in TABLES:
        assert list(listed[table.title[:7]]) == [claim.text for claim in table.claims(table.published)]


def test_the_page_says_of_table_3_what_the_command_says() -> None:
    systems = {system: system_run(SMOOTH, system, 1).metrics for system in TABLE_3.systems}
    verdicts = {claim.text: claim.holds for claim in TABLE_3.claims(systems)}
    assert claims_on_page()["Table 3"] == verdicts


def claims_on_page() -> dict[str, dict[str, bool]]:
    """By table, every claim in the table of claims, and whether it is said to hold."""
    found: dict[str, dict[str, bool]] = {}
    for line in (ROOT / "docs" / "results.md").read_text().splitlines():
        if row := re.fullmatch(r"\| (Table [2-8]) \| (.+?) \| (holds|differs) \| .* \|", line):
            found.setdefault(row[1], {})[row[2]] = row[3] == "holds"
    return found


def test_what_the_paper_says_is_true_of_the_papers_own_numbers() -> None:
    """So that a claim which is false of our runs is a difference, and not a misreading."""
    wrong = {
        (table.title, claim.text) for table in TABLES for claim in table.claims(table.published) if not claim.holds
    }
    assert wrong == set()


def test_a_result_is_shown_with_the_paper_beside_it() -> None:
    rows = {system: TABLE_3.published[system] for system in TABLE_3.systems}
    result = TableResult(TABLE_3, rows, 1, {PAPERS[0]: dict.fromkeys(GROUPINGS, rows[PAPERS[0]])})
    console = Console(file=StringIO(), width=100)
    for part in table_parts(result):
        console.print(part)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert text.count("paper") == 4
    assert "holds: one replica processes less than half (0.331)" in text
    assert "9 of 9 claims hold." in text
    assert "load-aware, 30 s" in text
    document: Any = json.loads(json.dumps(result.as_json()))
    assert [row["paper"]["saved"] for row in document["rows"]] == [0.475, 0.875, 0.5, 0.0]


def test_replicas_and_throughput_are_drawn(tmp_path: Path) -> None:
    runs = [system_run(SMOOTH, system, 1, 60) for system in ("static@replicas=4", "static@replicas=8")]
    result = TableResult(TABLE_3, {}, 1, {}, runs)
    path = plot_table(result, tmp_path)
    assert path.name == "pasps-table-3.png"
    assert path.read_bytes().startswith(b"\x89PNG")


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
