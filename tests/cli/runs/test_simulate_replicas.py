"""``mead simulate`` with replicas that have queues of their own, or that come from a pool."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli.program import answer, complaint, run
from tests.paths import EXAMPLES

from mead.queueing import Unstable
from mead.queueing.queues.mmk import mmk
from mead.workload import Poisson

DEMAND_S = 0.002
PIPELINE = """\
name: pool
shares: [1.0]
operators: [{name: worker, demand_s: 0.002, scv: 1, replicas: {max: 4}GROUPING}]
policy: {name: static}
"""


@pytest.fixture
def simulated(tmp_path: Path) -> Any:
    """Four replicas, 1000 or 1050 arrivals a second, and the mean response time that comes of it."""

    def mean_s(grouping: str, rate_per_s: float = 1000.0) -> float:
        trace, file = tmp_path / "arrivals.npy", tmp_path / "pool.yaml"
        arrivals = Poisson(rate_per_s=rate_per_s, duration_s=120.0).generate(np.random.default_rng(1))
        np.save(trace, arrivals.times_s)
        file.write_text(PIPELINE.replace("GROUPING", grouping))
        document = answer("simulate", file, "--trace", trace, "--seed", 1)
        return float(document["paths"]["worker"]["mean_s"])

    return mean_s


def test_a_queue_for_each_replica_is_slower_than_one_for_all(simulated: Any) -> None:
    """Half busy: four M/M/1 queues with a shuffle, one M/M/4 without a grouping."""
    one = mmk(1000.0, DEMAND_S, 4)
    assert not isinstance(one, Unstable)
    assert simulated("") == pytest.approx(one.mean_s, rel=0.03)
    assert simulated(", grouping: {kind: shuffle}") == pytest.approx(1 / (500 - 250), rel=0.05)


def test_unequal_replicas_need_a_grouping_that_looks_at_loads(simulated: Any) -> None:
    """At 0.7 of the whole, a shuffle gives 1.05 of what it can do to a replica of half the speed."""
    unequal = ", grouping: {kind: KIND, speeds: [1, 1, 0.5, 0.5], interval_s: 1}"
    shuffled, aware = (simulated(unequal.replace("KIND", kind), 1050.0) for kind in ("shuffle", "least_utilised"))
    assert aware < 0.25 * shuffled


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("GROUPING", ", grouping: {kind: shufle}", "operators[0].grouping.kind: must be 'shuffle', 'round_robin'"),
        ("GROUPING", ", grouping: {kind: shuffle, speeds: [1, 0]}", "operators[0].grouping.speeds[1]: must be > 0"),
        (
            "GROUPING",
            ", grouping: {kind: shuffle, speeds: [1, 1, 1, 1, 1]}",
            "operators[0].grouping: names 5 speeds for 4 replicas",
        ),
        (
            "GROUPING",
            ", batch: {overhead_s: 0.1}, grouping: {kind: shuffle}",
            "operators[0].grouping: shuffle is for tuples one by one, without batch",
        ),
        ("max: 4}GROUPING", "min: 2, max: 4}", "processors: must be at least 2, the sum of min replicas; got 1"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(tmp_path: Path, old: str, new: str, said: str) -> None:
    file = tmp_path / "pool.yaml"
    pool = "processors: 1\n" if said.startswith("processors") else ""
    file.write_text(PIPELINE.replace(old, new) + pool)
    assert said in complaint("simulate", file, "--trace", tmp_path / "none.npy")


def test_a_pool_gives_no_more_than_it_has(tmp_path: Path) -> None:
    """Two operators that may have four replicas each, and five processors for both."""
    trace, file = tmp_path / "arrivals.npy", tmp_path / "pool.yaml"
    np.save(trace, Poisson(rate_per_s=300.0, duration_s=60.0).generate(np.random.default_rng(1)).times_s)
    operators = "[{name: a, demand_s: 0.002, replicas: {max: 4}}, {name: b, demand_s: 0.002, replicas: {max: 4}}]"
    file.write_text(f"name: pool\nshares: [1.0]\noperators: {operators}\nedges: [[a, b]]\nprocessors: 5\n")
    document = answer("simulate", file, "--trace", trace, "--policy", "psps", "--option", "interval_s=10")
    totals = [sum(one["replicas"] for one in at["allocation"].values()) for at in document["timeline"]]
    assert totals[0] == 5
    assert max(totals) <= 5


def test_a_simulation_under_dabs_loses_what_a_restart_loses(tmp_path: Path) -> None:
    trace = tmp_path / "arrivals.csv"
    assert run("generate", "poisson", "--rate", 300, "--duration", 90, "-o", trace, "--seed", 1).exit_code == 0
    words = ("simulate", EXAMPLES / "pasps-twitter.yaml", "--trace", trace, "--seed", 1)
    restarted = answer(*words, "--policy", "dabs", "--option", "hold_down_s=0")
    waited = answer(*words, "--policy", "dabs", "--option", "hold_down_s=0", "--option", "loses=false")
    pooled = answer(*words, "--policy", "psps")
    assert restarted["lost"] > 1000
    assert waited["lost"] == pooled["lost"] == 0
    path = "parse>spam>classify>save"
    assert waited["paths"][path]["mean_s"] > 10 * pooled["paths"][path]["mean_s"]
    assert "forecasts" in pooled["timeline"][-1]["reason"]
