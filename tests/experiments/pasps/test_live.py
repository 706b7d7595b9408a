"""Live runs of the PA-SPS applications: the streams that they get, and what is refused before Spark starts."""

from __future__ import annotations

import numpy as np
import pytest
from experiments.pasps.live import APPLICATIONS, EXAMPLES, SYSTEMS
from experiments.pasps.scenarios import TURNS
from tests.experiments import program

from mead.config import read_pipeline


@pytest.mark.parametrize("name", APPLICATIONS)
def test_an_application_has_the_graph_and_the_pools_of_its_scenario(name: str) -> None:
    application = APPLICATIONS[name]
    live, virtual = read_pipeline(EXAMPLES / f"{application.file}.yaml").pipeline, application.scenario.pipeline
    assert live.order == virtual.order
    assert [o.max_replicas for o in live.operators] == [o.max_replicas for o in virtual.operators]
    assert {(e.source, e.target) for e in live.edges} == {(e.source, e.target) for e in virtual.edges}


def test_a_run_has_all_hills_of_smoothed_twitter_at_a_tenth() -> None:
    trace = APPLICATIONS["tweets"].trace(seed=1, duration_s=90.0)
    counts = np.bincount((trace.times_s + 1e-9).astype(int))
    peaks = [max(rate for second, rate in TURNS if low < second < high) / 10 for low, high in ((0, 300), (300, 700))]
    assert counts[:25].max() == pytest.approx(peaks[0], rel=0.02)
    assert counts[25:55].max() == pytest.approx(peaks[1], rel=0.02)
    assert counts.size <= 100


def test_an_unknown_application_or_system_is_refused() -> None:
    said = program.complaint("pasps-live", "--application", "chess")
    assert "there is no application 'chess'; choose from tweets, dns, logs, news" in said
    assert "chess" in program.complaint("pasps-live", "--system", "chess")
    assert any(system.startswith("pasps") for system in SYSTEMS)
