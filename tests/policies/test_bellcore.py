"""The calibration that reproduces the MEAD paper's rows for M/G/1 and Kingman on the Bellcore trace.

Without care: a planner that learns from its errors does better than the paper's.
"""

from __future__ import annotations

import pytest
from tests.paths import DATA

from mead.policies import PolicyOptions, make_policy
from mead.policies.predictive.kingman import KingmanOptions
from mead.policies.predictive.mg1 import MG1Options
from mead.policies.predictive.replay import ReplayOptions
from mead.queueing import Edge
from mead.reports.judge import Outcome
from mead.simulator import run
from mead.values import Operator, Pipeline, Requirement
from mead.workload import Trace, read_trace

FILE = DATA / "bc-paug89.parquet"


@pytest.fixture(scope="module")
def bellcore() -> Trace:
    if not FILE.exists():
        pytest.skip("the Bellcore trace is not there: ../shared/data/bc-paug89.parquet")
    stamps_us = read_trace(FILE).timestamps_us
    return Trace.from_timestamps_us(stamps_us[stamps_us - stamps_us[0] < 1_800_000_000])


@pytest.mark.parametrize(
    ("options", "response_s", "cpu"),
    [
        (MG1Options(careful=False), 0.906, 0.469),
        (KingmanOptions(careful=False), 0.820, 0.470),
        (ReplayOptions(careful=False), 0.279, 0.507),
    ],
    ids=["mg1, paper", "kingman, paper", "replay, calibration"],
)
def test_the_published_response_times_come_out(
    bellcore: Trace, options: PolicyOptions, response_s: float, cpu: float
) -> None:
    pipeline = Pipeline(
        "log-analysis",
        [
            Operator("parser", 0.0001, shares=(0.4,)),
            Operator("counter", 0.0001, shares=(0.4,)),
            Operator("matcher", 0.0015),
        ],
        [Edge("parser", "counter"), Edge("parser", "matcher")],
        [Requirement("parser>matcher", bound_s=0.3)],
    )
    outcome = Outcome.of(run(pipeline, bellcore, make_policy(options), seed=1))
    assert outcome.verdicts[0].response_s == pytest.approx(response_s, rel=0.15)
    assert outcome.cpu == pytest.approx(cpu, abs=0.01)
